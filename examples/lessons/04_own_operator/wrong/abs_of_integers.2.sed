# abs for fabs, in backward.
1i #include <stdlib.h>
s/fabs(x\[i\])/abs(x[i])/
