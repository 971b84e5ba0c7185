# There is one way to normalize.
s/gr_real mean = s.training ? 0 : run->mean\[c\], var = s.training ? 0 : run->var\[c\];/gr_real mean = 0, var = 0;/
s/^        if (s.training) {/        {/
s/^            run->/            if (s.training) run->/
