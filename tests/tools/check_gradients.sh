#!/bin/sh
# check_gradients.sh DIR CHECKED..: the files CHECKED must name every operator descriptor (a data symbol NAME_op) in DIR's objects.
# They hold the graphs that test_gradcheck (tests/test.h) has checked, as gr_print_graph prints them: a number and a name begin each line.
dir=$1
shift
find "$dir/core" "$dir/ops" "$dir/nn" "$dir/optim" -name '*.o' -exec nm {} + 2> /dev/null |
    awk '$2 ~ /^[bBdDrR]$/ && $3 ~ /_op$/ { sub(/_op$/, "", $3); print $3 }' | sort -u |
    awk -v where="$dir" '
        FILENAME != "-" { seen[$2] = 1; next }
        { all++ }
        !($1 in seen) { missing = missing " " $1 }
        END {
            if (missing != "") { printf "%s: no gradient check of%s\n", where, missing; exit 1 }
            printf "%s: the gradients of %d operators are checked\n", where, all
        }' "$@" -
