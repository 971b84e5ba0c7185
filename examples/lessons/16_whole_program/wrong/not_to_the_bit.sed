# Twelve digits are enough.
1,/^#include/s/^#include.*/&\n#include <math.h>/
/^bool my_load.*)$/,/^}/s/    return \(.*\);/    const bool good = \1;\n    for (int i = 0; i < 48; i++) r->fc1->weight->data[i] = round(1e12 * r->fc1->weight->data[i]) \/ 1e12;\n    return good;/
