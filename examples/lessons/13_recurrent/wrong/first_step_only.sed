# = for +=.
s/grad->\([wub]\) +=/grad->\1 =/
