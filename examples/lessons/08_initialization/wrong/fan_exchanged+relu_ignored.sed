# Two mistakes at once.
s/backward ? out : in)/backward ? in : out)/
s|(relu ? 2 : 1) / fan|1 / fan|
