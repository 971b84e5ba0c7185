# powf.
s/pow(beta2/powf(beta2/
