# = for += in one line.
s/grad->w +=/grad->w =/
