#!/bin/sh
# check_readme.sh CC DIR: the code, output, links and names in README.md and in the pages that it links to are correct.
#   The first block of C in README.md is examples/quickstart.c from its first #include on, without the lines for --check.
#   Each block of C there compiles without warnings, links with the library in DIR and runs; if a block of text follows, it is the output.
#   The blocks of examples/tutorial.md are one program.
#   Each link of a page leads to a file that exists, and to a heading in it. Each name gr_.. or GR_.. on a page stands in a header.
#   README.md names each program, examples/README.md has a link to it, and README.md has at most 130 lines.
cc=$1 dir=$2 bad=0
pages='README.md examples/README.md examples/tutorial.md tests/README.md .github/CONTRIBUTING.md'
pages="$pages examples/broken/README.md examples/broken/answers/README.md $(echo core/*.md ops/*.md optim/*.md)"
pages="$pages $(echo examples/lessons/README.md examples/lessons/*/README.md examples/lessons/functions.txt)" changes=.github/CHANGELOG.md # which has old names, too
. "$(dirname "$0")/scratch.sh"
new_scratch

awk -v to="$scratch" '
    /^```c$/ { file = to "/" ++n ".c"; next }
    /^```text$/ && n { file = to "/" n ".txt"; next }
    /^```/ { file = ""; next }
    file { print > file }' README.md
awk -v to="$scratch" '
    /^```/ { file = /^```c$/ ? to "/tutorial.c" : /^```text$/ ? to "/tutorial.txt" : ""; next }
    file { print > file }' examples/tutorial.md
sed -e '1,/^ \*\/$/d; /--check/d; s/main(int argc, char \*\*argv)/main(void)/' examples/quickstart.c | diff "$scratch/1.c" - ||
    { echo "README.md does not show examples/quickstart.c as it is, without its lines for --check"; bad=1; }

for block in "$scratch"/*.c; do
    name="README.md: block $(basename "$block" .c) of C"
    [ "$(basename "$block")" != tutorial.c ] || name="examples/tutorial.md: the program"
    # shellcheck disable=SC2086
    $cc -std=c11 -Wall -Wextra -Wpedantic -Werror -I. "$block" "$dir/libgradus.a" -lm -pthread -o "$block.program" || { echo "$name does not compile"; bad=1; continue; }
    (cd "$scratch" && "$block.program") > "$block.printed" || { echo "$name fails"; bad=1; continue; }
    [ ! -f "${block%.c}.txt" ] || diff "${block%.c}.txt" "$block.printed" || { echo "$name does not print the text that follows it"; bad=1; }
done

headings() { sed -n 's/^##* //p' "$1" | tr 'A-Z' 'a-z' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'; }
for page in $pages $changes; do
    for link in $(sed 's/`[^`]*`//g' "$page" | grep -o '](\([^)]*\))' | sed 's/^](//; s/)$//' | grep -v '^https*:'); do
        path=${link%%#*} file=$(dirname "$page")/$path
        [ -n "$path" ] || file=$page
        [ -e "$file" ] || { echo "$page: a link leads to $path, which does not exist"; bad=1; continue; }
        [ "$link" = "$path" ] || headings "$file" | grep -qx -- "${link#*#}" || { echo "$page: a link leads to $link; $file has no such heading"; bad=1; }
    done
done

for program in examples/*.c; do
    name=$(basename "$program" .c)
    grep -qF "\`$name\`" README.md || { echo "README.md does not name $name"; bad=1; }
    grep -qF "]($name.c)" examples/README.md || { echo "examples/README.md has no link to $name.c"; bad=1; }
done
[ "$(wc -l < README.md)" -le 130 ] || { echo "README.md has more than 130 lines: it is for someone who has five minutes"; bad=1; }

names='gr_[a-z0-9][a-z0-9_]*|GR_[A-Z0-9][A-Z0-9_]*'
{
    $cc -std=c11 -I. -E -x c gradus.h
    cat core/*.h core/*/*.h ops/*.h nn/*.h optim/*.h
} | grep -owE "$names" | sort -u > "$scratch/known"
for page in $pages; do
    unknown=$(grep -owE "$names" "$page" | sort -u | comm -23 - "$scratch/known")
    [ -z "$unknown" ] || { echo "$page: no header holds" $unknown; bad=1; }
done
exit $bad
