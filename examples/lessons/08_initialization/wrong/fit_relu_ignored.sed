# W x for both.
/if (relu \&\& y < 0)/d
