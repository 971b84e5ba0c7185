# NULL is not expected.
s/if (ds) ds/ds/
