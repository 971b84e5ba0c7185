# = for += in one line.
s/grad->u +=/grad->u =/
