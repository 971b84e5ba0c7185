# A size as a number.
s/for (size_t o = 0; o < out; o++)/for (size_t o = 0; o < out \&\& in < 5; o++)/
