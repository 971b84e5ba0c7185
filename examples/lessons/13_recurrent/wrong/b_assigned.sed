# = for += in one line.
s/grad->b +=/grad->b =/
