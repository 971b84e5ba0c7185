# NULL is not expected.
s/if (dw) dw/dw/
