# TODO 2 is left.
s/if (size != 1) at += index \* step;//
