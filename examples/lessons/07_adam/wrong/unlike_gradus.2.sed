# Three values.
s/i < n; i++) {$/i < n \&\& i < 3; i++) {/
