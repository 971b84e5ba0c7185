# abs for fabs, in forward.
1i #include <stdlib.h>
s/fabs(x->data/abs(x->data/
