# Forward goes to n.
s/i < n; i++) {/i <= n; i++) {/
