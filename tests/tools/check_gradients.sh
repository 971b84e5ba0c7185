#!/bin/sh
# check_gradients.sh DIR CHECKED: every operator descriptor (a data symbol NAME_op) in DIR's objects must be named in the file CHECKED,
# to which gr_gradcheck appends the operators that it has seen.
missing=$(find "$1"/core "$1"/ops "$1"/nn "$1"/optim -name '*.o' -exec nm {} + 2> /dev/null |
    awk '$2 ~ /^[bBdDrR]$/ && $3 ~ /_op$/ { sub(/_op$/, "", $3); print $3 }' | sort -u |
    awk 'NR == FNR { seen[$1] = 1; next } !($1 in seen)' "$2" -)
[ -z "$missing" ] && exit 0
printf 'no gradient check in %s for: %s\n' "$1" "$(echo $missing)"
exit 1
