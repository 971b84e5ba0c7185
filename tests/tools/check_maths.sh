#!/bin/sh
# check_maths.sh DIR: every operator in DIR's objects (a data symbol NAME_op) has its maths in the comment at the head of its file. Where that says
# "The maths is in FILE", or where the file includes a .def, the comment at the head of that belongs to it. It has
#   the name of each operator, unless it is made by a line NAME(name, ..) of the .def or LOSS(name, ..);
#   the formula: an indented line with =;            Shapes: ..
#   the backward: the word, or the gradient dx = .. of an input;
#   Saved: .., what it keeps for backward;            Kinks: .., the conventions where the formula does not say enough, or none
#   a source, authors and year, or Source: none.
# In ops/equations.md each table has the equations 1, 2, .. up to the number that the text before it names. A row has FILE:LINE of the code and of a
# test, or says "not in the code". There and on the pages of derivations, each FILE:LINE holds the text that it is said to hold.
dir=$1 bad=0
find "$dir/core" "$dir/ops" "$dir/nn" -name '*.o' ! -name '*.*.o' -exec nm -A {} + 2> /dev/null |
    awk -v skip=${#dir} '$2 ~ /^[bBdDrR]$/ && $3 ~ /_op$/ {
        sub(/[.]o:.*/, "", $1); sub(/_op$/, "", $3); names[substr($1, skip + 2)] = names[substr($1, skip + 2)] " " $3
    }
    END { for (file in names) print file names[file] }' | sort | awk '
    function head_of(file,    line, text, begun) {
        while ((getline line < file) > 0) {
            if (!begun && line !~ /^\/\*/) break
            begun = 1
            text = text line "\n"
            if (line ~ /\*\//) break
        }
        close(file)
        return text
    }
    function has(part, pattern) { if (text !~ pattern) { print source ": the comment at its head has no " part; bad = 1 } }
    {
        source = $1 ".c"
        files++
        lines = ""
        text = head_of(source)
        if (text == "") { print source ": no comment at its head"; bad = 1; next }
        if (match(text, /The maths is in [a-z_\/]+[.][ch]/)) text = text head_of(substr(text, RSTART + 16, RLENGTH - 16))
        while ((getline line < source) > 0)
            if (line ~ /^ *LOSS[(]/) lines = lines "\n" line
            else if (line ~ /^#include ".*[.]def"/) {
                split(line, quoted, "\"")
                text = text head_of(quoted[2])
                while ((getline line < quoted[2]) > 0) lines = lines "\n" line
                close(quoted[2])
            }
        close(source)
        has("formula", "\n [*]     [^\n]*[=,]"); has("Shapes:", "Shapes:"); has("Saved:", "Saved:"); has("Kinks:", "Kinks:")
        has("backward", "[bB]ackward|\n [*]     [^\n]*d[a-z]+(\\[[^=]*\\])* [+]?= ")
        has("source (authors and year, or Source: none)", "[A-Z][a-z]+[^\n]* (19|20)[0-9][0-9]|Source: none")
        for (i = 2; i <= NF; i++) {
            operators++
            if (text !~ "(^|[^a-z0-9_])" $i "([^a-z0-9_]|$)" && lines !~ "\n *[A-Z_0-9]+[(]" $i ",") {
                print source ": the comment at its head does not name " $i
                bad = 1
            }
        }
    }
    END {
        if (operators < 80) { print "only " operators + 0 " operators: run make first"; bad = 1 }
        if (!bad) print "  the maths of " operators " operators in " files " files"
        exit bad
    }' || bad=1

wrong=$(for page in core/*.md ops/*.md optim/*.md; do tests/tools/references.sh . "$page"; done)
[ -z "$wrong" ] || { echo "$wrong"; bad=1; }

awk -F ' *[|] *' '
    function end() { if (done != numbered) { print FILENAME ": " paper " has " numbered " numbered equations, and the table has " done; bad = 1 } }
    /^## / { end(); paper = substr($0, 4); numbered = done = 0 }
    match($0, /numbers [0-9]+ equations/) { numbered = substr($0, RSTART + 8) + 0 }
    !/^[|]/ || $2 == "equation" || /^[|]-/ { next }
    {
        rows++
        place = "(core|ops|nn|optim|examples|tests)/[a-z_0-9/]+[.](c|h|md|def):[0-9]+ `"
        if (NF != 7 || $3 == "" || $6 == "") why = "needs five cells"
        else if ($2 ~ /^[0-9]+$/ && $2 != ++done) why = "is not number " done
        else if ($4 !~ place && $4 !~ /not in the code/) why = "names no line of code"
        else if ($4 ~ place && $5 !~ place) why = "names no test"
        else next
        print FILENAME ":" FNR ": equation " $2 " " why
        bad = 1
    }
    END { end(); if (!bad) print "  " rows " equations of three papers are in their places"; exit bad }' ops/equations.md || bad=1
exit $bad
