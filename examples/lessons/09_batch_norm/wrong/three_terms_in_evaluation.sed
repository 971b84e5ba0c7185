# One formula for both modes.
/if (!s->training) sum/d
