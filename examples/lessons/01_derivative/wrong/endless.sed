# A counter that does not count.
s/i < n; i++) {/i < n;) {/
