#!/bin/sh
# check_lines.sh: files over 400 lines (core/tape.c: 500) and functions over 60.
find core ops nn optim examples tests gradus.h Makefile -name '*.[ch]' -o -name '*.def' -o -name Makefile | sort | xargs awk '
    function close_file() { if (lines > (file == "core/tape.c" ? 500 : 400)) { printf "%s has %d lines\n", file, lines; found = 1 } }
    FNR == 1 { close_file(); file = FILENAME; start = 0; head = "" }
    { lines = FNR }
    /^[A-Za-z].*\(/ { head = $0; sub(/\(.*/, "", head); sub(/.*[ *]/, "", head) }
    /^[{]/ { start = FNR }
    /^}/ && start && FNR - start > 61 { printf "%s:%d: %s has %d lines\n", FILENAME, start, head, FNR - start - 1; found = 1 }
    /^}/ { start = 0 }
    END { close_file(); exit found }'
