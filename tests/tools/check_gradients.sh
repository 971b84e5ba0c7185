#!/bin/sh
# check_gradients.sh DIR CHECKED: the file CHECKED must name every operator descriptor (a data symbol NAME_op) in DIR's objects.
# gr_gradcheck appends the operators that it has checked to this file.
find "$1/core" "$1/ops" "$1/nn" "$1/optim" -name '*.o' -exec nm {} + 2> /dev/null |
    awk '$2 ~ /^[bBdDrR]$/ && $3 ~ /_op$/ { sub(/_op$/, "", $3); print $3 }' | sort -u |
    awk -v where="$1" '
        FILENAME != "-" { seen[$1] = 1; next }
        { all++ }
        !($1 in seen) { missing = missing " " $1 }
        END {
            if (missing != "") { printf "%s: no gradient check of%s\n", where, missing; exit 1 }
            printf "%s: the gradients of %d operators are checked\n", where, all
        }' "$2" -
