# 1 - g.
/^void my_step_backward(/,/^}/s/(1 - g \* g)/(1 - g)/
