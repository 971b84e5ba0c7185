# b is assigned.
s/for (size_t o = 0; o < out; o++)$/for (size_t o = 0; o < out \&\& !(b[o] = 0); o++)/
