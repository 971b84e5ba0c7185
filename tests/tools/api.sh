#!/bin/sh
# api.sh [--check | --lines] 'CC' DIR: list every public function with its name in PyTorch (tests/interchange/pytorch_names.txt) and the programs that use
# it; last come those that have neither. --check prints only these, and fails if there are any, or if the names are of functions that do not exist.
# It does not fail for an operator of a .def file, which is one line to add, unless GRADUS_RECORDS=1 asks for all that PyTorch says of it.
# --lines prints a line for each with tabs between: name, header, name in PyTorch, programs.
# A public function is one that the shared library in DIR exports, or one that a public header defines (static inline). A program uses an
# exported function when the object of the program refers to it, also through a macro of a header, and an inline one when its source names it.
check=0 lines=0
case $1 in
--check) check=1; shift ;;
--lines) lines=1; shift ;;
esac
cc=$1 dir=$2
. "$(dirname "$0")/scratch.sh"
new_scratch
programs=$(ls examples/*.c examples/*/*.c | grep -v '^examples/\(lessons\|broken\)/') || exit 1

# "HEADER NAME KIND" of each declaration. The preprocessor's line markers say which file it stands in.
$cc -std=c11 -I. -E -x c gradus.h | awk '
    /^# [0-9]+ "/ { file = $3; gsub(/"|\.\//, "", file); next }
    file !~ /^(core|ops|nn|optim)\// { next }
    {
        rest = $0
        while (match(rest, /(^|[^a-zA-Z0-9_])gr_[a-z0-9][a-zA-Z0-9_]*\(/)) {
            name = substr(rest, RSTART, RLENGTH - 1); sub(/^[^g]/, "", name)
            rest = substr(rest, RSTART + RLENGTH)
            if (!seen[name]++) print file, name, /static inline/ ? "inline" : "exported"
        }
    }' > "$scratch/declared"
nm -D --defined-only "$dir"/libgradus*.so.* | awk '{ print $3 }' > "$scratch/exported"
grep '^gr_' tests/interchange/pytorch_names.txt > "$scratch/names"

# "PROGRAM NAME KIND" of each use.
for program in $programs; do
    use=${program#examples/} use=${use%.c}
    named=$(grep -o 'gr_[a-z0-9_]*(' "$program" | sort -u | awk -v use="$use" '{ sub(/\(/, ""); print use, $0 }')
    case $program in
    */mpi*) echo "$named" | sed 's/$/ exported/' ;; # the object needs MPI
    *) nm "$dir/${program%.c}.o" | awk -v use="$use" '$1 == "U" && $2 ~ /^gr_/ { print use, $2, "exported" }' ;;
    esac
    echo "$named" | sed 's/$/ inline/'
done > "$scratch/used"

awk -v check=$check -v lines=$lines -v records="${GRADUS_RECORDS:-}" '
    FILENAME ~ /exported$/ { exported[$1] = 1; next }
    FILENAME ~ /names$/ { if ($1 in torch) { print "pytorch_names.txt names " $1 " twice"; bad = 1 } torch[$1] = $2; next }
    FILENAME ~ /used$/ { users[$2, $3] = users[$2, $3] " " $1; next }
    $3 == "exported" && !($2 in exported) { next }
    { all++; listed[$2] = 1; use = users[$2, $3]; idle += use == "" }
    use == "" && !($2 in torch) && check && $1 ~ /[.]def$/ && !records { print "not run: no name in PyTorch of " $2; next }
    use == "" && !($2 in torch) { left[++lefts] = sprintf("    %-32s %s", $2, $1); next }
    check { next }
    lines { sub(/^ /, "", use); print $2 "\t" $1 "\t" torch[$2] "\t" use; next }
    $1 != header { header = $1; print header }
    { line = sprintf("    %-31s %-43s %s", $2, $2 in torch ? torch[$2] : "", use); sub(/ +$/, "", line); print line }
    END {
        for (name in exported) if (!(name in listed)) { printf "%s is exported, but no public header declares it\n", name; bad = 1 }
        for (name in torch) if (!(name in listed)) { printf "pytorch_names.txt names %s, which is no public function\n", name; bad = 1 }
        if (!all) { print "no public function was found"; bad = 1 }
        if (!check && !lines) printf "no program uses %d of %d public functions\n", idle, all
        if (lefts && !lines) printf "no program uses these, and pytorch_names.txt does not have them:\n"
        for (i = 1; i <= lefts && !lines; i++) print left[i]
        exit bad || (check && lefts)
    }' "$scratch/exported" "$scratch/names" "$scratch/used" "$scratch/declared"
