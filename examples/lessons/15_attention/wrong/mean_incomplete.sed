# One loop for the mean and for ds.
/^.. Given dy/,/^}/{
s/^            for (int c = 0; c < d; c++) mean += .*/            ;/
s/^            const double ds/            mean += p[i * T + j] * dp;\n&/
}
