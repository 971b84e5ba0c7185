#!/bin/sh
# check_awk.sh CC DIR: the awk programs of the tree do the same in gawk, mawk, busybox awk and the original awk, as far as they are here: `make one` writes
# the same bytes, the table of the misuse campaign is the same, and the gates and make install say the same. DIR holds the objects of `make check-api`.
cc=$1 dir=$2 bad=0 first='' each=''
. "$(dirname "$0")/scratch.sh"
new_scratch

run() { # run NAME COMMAND...: its output and its exit code go to the file NAME of this awk
    name=$1
    shift
    "$@" > "$at/$name" 2>&1
    echo "exit $?" >> "$at/$name"
}
everything() {
    at=$scratch/$1 PATH=$scratch/$1.bin:$PATH
    mkdir -p "$at"
    awk -v out="$at" -f tests/tools/amalgamate.awk core/*.h core/io/*.h ops/*.h nn/*.h optim/*.h core/*.c core/io/*.c ops/*.c nn/*.c optim/*.c || exit
    run misuse awk -f tests/campaign/misuse.awk tests/campaign/misuse.c "$scratch/prototypes"
    run loc tests/tools/loc.sh
    run lines tests/tools/check_lines.sh
    run layers tests/tools/check_layers.sh "$dir"
    run circles tests/tools/check_circles.sh "$cc" "$dir" core/*.c core/io/*.c ops/*.c nn/*.c optim/*.c
    run vector tests/tools/check_vector.sh "$dir"
    run symbols tests/tools/check_symbols.sh "$dir"
    run maths tests/tools/check_maths.sh "$dir"
    run api tests/tools/api.sh "$cc" "$dir"
    run gradients tests/tools/check_gradients.sh "$dir" /dev/null # lists all operators
}
removal() { # one awk after the other, in the same folder
    at=$scratch/$1 PATH=$scratch/$1.bin:$PATH
    printf 'gradus: installed files, version 1 of this list\nat 1 %s\nd .\nf lib/a\nf share/gradus/installed/..\n' "$scratch/prefix" > "$scratch/prefix/share/gradus/installed"
    PREFIX=$scratch/prefix DESTDIR='' run install tests/tools/install.sh --remove
}

mkdir -p "$scratch/prefix/share/gradus"
echo '#include "gradus.h"' | $cc -std=c11 -I. -E -P -x c - > "$scratch/prototypes"
for awk in gawk mawk 'busybox awk' original-awk; do
    command -v "${awk% *}" > /dev/null || { echo "not run: the awk programs in $awk, which is not here"; continue; }
    name=$(echo "$awk" | tr ' ' -)
    mkdir "$scratch/$name.bin" && printf '#!/bin/sh\nexec %s "$@"\n' "$awk" > "$scratch/$name.bin/awk" && chmod +x "$scratch/$name.bin/awk"
    { (everything "$name"); echo $? > "$scratch/$name.exit"; } &
    first=${first:-$name} each="$each $name" names="$names${names:+, }$awk"
done
wait
for name in $each; do (removal "$name"); done
for name in $each; do
    [ "$(cat "$scratch/$name.exit")" = 0 ] || { echo "make one fails in $name"; bad=1; }
    diff -r "$scratch/$first" "$scratch/$name" > "$scratch/diff" || { echo "$name does not do what $first does:"; head -n 20 "$scratch/diff"; bad=1; }
done
[ -n "$first" ] || { echo 'check-awk: there is no awk'; exit 1; }
[ "$(wc -l < "$scratch/$first/misuse")" -gt 200 ] || { echo "check-awk: the table of misuse is too short"; bad=1; }
[ $bad = 0 ] && echo "check-awk: the same from $names"
exit $bad
