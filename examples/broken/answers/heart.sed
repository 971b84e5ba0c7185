# The backward has the direct term alone. x moves the mean and the variance of its row, too.
/for (size_t i = 0; dx && i < n->in\[0\]->len; i++)/c\
    for (size_t row = 0; dx && row < n->in[0]->len / H; row++) {\
        double mean = 0, with_xhat = 0;\
        for (size_t i = row * H; i < (row + 1) * H; i++) mean += (double)dy[i] / H, with_xhat += (double)dy[i] * (double)s->xhat[i] / H;\
        for (size_t i = row * H; i < (row + 1) * H; i++) dx[i] += (gr_real)((double)s->rstd[row] * ((double)dy[i] - mean - (double)s->xhat[i] * with_xhat));\
    }
