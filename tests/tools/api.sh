#!/bin/sh
# api.sh 'CC' DIR: list every public function with the programs and lessons that use it; those that none uses come last, with their number.
# A public function is one that the shared library in DIR exports, or one that a public header defines (static inline). A program uses an
# exported function when the object of the program refers to it, also through a macro of a header, and an inline one when its source names it.
cc=$1 dir=$2
. "$(dirname "$0")/scratch.sh"
new_scratch
programs=$(ls examples/*.c examples/*/*.c) || exit 1

# "HEADER NAME KIND" of each declaration. The preprocessor's line markers say which file it stands in.
for header in gradus.h ops/composed.h; do echo "#include \"$header\""; done | $cc -std=c11 -I. -E -x c - | awk '
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

# "PROGRAM NAME" of each use.
for program in $programs; do
    use=${program#examples/} use=${use%.c}
    nm "$dir/${program%.c}.o" | awk -v use="$use" '$1 == "U" && $2 ~ /^gr_/ { print use, $2 }'
    grep -o 'gr_[a-z0-9_]*(' "$program" | sort -u | awk -v use="$use" '{ sub(/\(/, ""); print use, $0, "named" }'
done > "$scratch/used"

awk '
    FILENAME ~ /exported$/ { exported[$1] = 1; next }
    FILENAME ~ /used$/ && !($2 in users && index(users[$2] " ", " " $1 " ")) { users[$2] = users[$2] " " $1; next }
    FILENAME ~ /used$/ { next }
    $3 == "exported" && !($2 in exported) { next }
    { all++; listed[$2] = 1 }
    !($2 in users) { unused[++none] = sprintf("    %-32s %s", $2, $1); next }
    $1 != header { header = $1; print header }
    { printf "    %-32s%s\n", $2, users[$2] }
    END {
        for (name in exported) if (!(name in listed)) { printf "%s is exported, but no public header declares it\n", name; bad = 1 }
        printf "no program uses %d of %d public functions\n", none, all
        for (i = 1; i <= none; i++) print unused[i]
        exit bad
    }' "$scratch/exported" "$scratch/used" "$scratch/declared"
