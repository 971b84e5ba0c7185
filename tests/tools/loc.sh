#!/bin/sh
# loc.sh: the lines of each folder: all of them, and those of code, without comments and blank lines.
for d in core ops nn optim examples tests; do
    find $d \( -name '*.c' -o -name '*.h' -o -name '*.def' \) -exec cat {} + | awk -v d=$d '
        { all++ }
        { line = $0; gsub("/[*]([^*]|[*][^/])*[*]/", "", line) } # a string: [^\/] is two characters in busybox
        inside { if (line !~ /\*\//) next; sub(/.*\*\//, "", line); inside = 0 }
        line ~ /\/\*/ { sub(/\/\*.*/, "", line); inside = 1 }
        line ~ /[^ \t]/ { code++ }
        END { print d, all + 0, code + 0 }'
done | awk 'BEGIN { printf "%-10s %7s %7s\n", "", "lines", "code" }
    { printf "%-10s %7d %7d\n", $1, $2, $3; all += $2; code += $3; if (NR <= 4) lib_all += $2; if (NR <= 4) lib_code += $3 }
    END { printf "%-10s %7d %7d\n%-10s %7d %7d\n", "library", lib_all, lib_code, "all", all, code }'
