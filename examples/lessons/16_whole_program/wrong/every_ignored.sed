# Each step.
/% every/d
