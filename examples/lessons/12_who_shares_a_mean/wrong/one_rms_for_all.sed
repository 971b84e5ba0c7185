# All values share.
s/for (size_t i = 0; i < N; i++) ms += .*/for (size_t i = 0; i < rows * N; i++) ms += x->data[i] * x->data[i] \/ (rows * N);/
