#!/bin/sh
# check_lines.sh: no file has more than 400 lines, no function more than 60, and the library (core, ops, nn, optim) fewer than `limit` lines
# of code.
limit=14300 bad=0
find core ops nn optim examples tests gradus.h Makefile -name '*.[ch]' -o -name '*.def' -o -name Makefile | sort | xargs awk '
    function close_file() { if (lines > 400) { printf "%s has %d lines\n", file, lines; found = 1 } }
    FNR == 1 { close_file(); file = FILENAME; start = 0; head = "" }
    { lines = FNR }
    /^[A-Za-z].*\(/ { head = $0; sub(/\(.*/, "", head); sub(/.*[ *]/, "", head) }
    /^[{]/ { start = FNR }
    /^}/ && start && FNR - start > 61 { printf "%s:%d: %s has %d lines\n", FILENAME, start, head, FNR - start - 1; found = 1 }
    /^}/ { start = 0 }
    END { close_file(); exit found }' || bad=1
tests/tools/loc.sh | awk -v limit=$limit '
    $1 == "library" { counted = 1; if ($3 >= limit) { printf "the library has %d lines of code, and must have fewer than %d\n", $3, limit; found = 1 } }
    END { exit found || !counted }' || bad=1
exit $bad
