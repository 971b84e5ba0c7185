#!/bin/sh
# check_layers.sh DIR: includes, and calls between the objects in DIR, run one way: core <- ops <- nn <- optim <- examples <- tests, and in
# examples composed, kit <- steps, plot, norms <- dive <- the programs. core/internal.h belongs to core (and to tests). core/io includes no header that
# knows the tape. Of examples, only kit/output.c takes core/library.h, whose functions no program outside the tree can link. examples/composed
# includes gradus.h alone, as a program outside the tree does; so do the lessons, which have their grader besides.
bad=0

find core ops nn optim examples -name '*.[ch]' -exec awk '
    BEGIN {
        n = split("core ops nn optim gradus.h examples/composed examples/kit examples/broken examples/mpi examples/steps examples/plot examples/norms examples/dive examples tests", order, " ")
        for (i = 1; i <= n; i++) rank[order[i]] = i
        apart["examples/norms", "examples/plot"] = apart["examples/plot", "examples/steps"] = apart["examples/norms", "examples/steps"] = apart["examples/kit", "examples/composed"] = 1
    }
    function room(path,    part, n) {
        n = split(path, part, "/")
        return part[1] == "examples" && n > 2 ? part[1] "/" part[2] : part[1]
    }
    /^[ \t]*#[ \t]*include[ \t]*"/ {
        split($0, quoted, "\"")
        if (FILENAME ~ /^examples\/lessons\// && quoted[2] ~ /^(gradus|grader|\.\.\/grader)\.h$/) next
        from = room(FILENAME); to = room(quoted[2])
        if (!(to in rank) || !(from in rank)) why = "is not written from the root of the tree"
        else if (rank[to] > rank[from] || (from, to) in apart) why = "runs against " (from ~ /examples/ && to ~ /examples/ ? \
            "composed, kit <- steps, plot, norms <- dive <- the programs" : "core <- ops <- nn <- optim <- examples <- tests")
        else if (from == "examples/composed" && to != from && to != "gradus.h") why = "goes beyond gradus.h, which is all that a twin needs"
        else if (quoted[2] == "core/internal.h" && from != "core") why = "is for core alone"
        else if (quoted[2] ~ /(library|internal)\.h$/ && from ~ /examples/ && FILENAME != "examples/kit/output.c") why = "is for the library alone"
        else next
        printf "%s:%d: the include of %s %s\n", FILENAME, FNR, quoted[2], why; found = 1
    }
    END { exit found }' {} + || bad=1

for d in "$1"/core/io/*.d; do
    [ -f "$d" ] || { echo "no lists of included headers in $1/core/io: run make first"; bad=1; break; }
    ! grep -q 'core/tape[.]h' "$d" || { echo "${d#"$1"/}: this file includes core/tape.h, or a header that does"; bad=1; }
done

names=$(mktemp) || exit 2
trap 'rm -f "$names"' EXIT
for layer in core ops nn optim; do
    find "$1/$layer" -name '*.o' -exec nm {} + 2> /dev/null | awk -v layer=$layer '
        NF == 3 && $2 ~ /^[TDRB]$/ && $3 ~ /^gr_/ { print "defines", layer, $3 }
        NF == 2 && $1 == "U" && $2 ~ /^gr_/ { print "calls", layer, $2 }'
done > "$names"
awk 'BEGIN { rank["core"] = 1; rank["ops"] = 2; rank["nn"] = 3; rank["optim"] = 4 }
    NR == FNR { if ($1 == "defines") home[$3] = $2; next }
    $1 == "calls" && ($3 in home) { calls++ }
    $1 == "calls" && ($3 in home) && rank[home[$3]] > rank[$2] { printf "%s calls %s, which is in %s\n", $2, $3, home[$3]; found = 1 }
    END { if (!calls) print "the objects call nothing of each other: run make first"; exit found || !calls }' "$names" "$names" || bad=1
exit $bad
