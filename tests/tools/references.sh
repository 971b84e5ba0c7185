#!/bin/sh
# references.sh TREE PAGE: where the page names a file of the tree, the file exists, and where it says FILE:LINE, that line holds the next text in
# backticks. Each reference that is wrong makes a line of output.
tree=$1 page=$2
awk '{
    while (match($0, /(core|ops|nn|optim|examples|tests)\/[a-z_0-9\/]+[.](c|h|md|def)(:[0-9]+)?/)) {
        split(substr($0, RSTART, RLENGTH), part, ":")
        $0 = substr($0, RSTART + RLENGTH)
        rest = $0
        sub(/^[`)]/, "", rest)
        held = match(rest, /`[^`]+`/) ? substr(rest, RSTART + 1, RLENGTH - 2) : ""
        print part[1], part[2] ? part[2] " " held : "-"
    }
}' "$page" | while read -r file line held; do
    [ -e "$tree/$file" ] || { echo "$page names $file, which does not exist"; continue; }
    [ "$line" = - ] || [ -n "$held" ] || { echo "$page: behind $file:$line, on the same line, must be the text in backticks that it holds"; continue; }
    [ "$line" = - ] || sed -n "${line}p" "$tree/$file" | grep -qF -- "$held" ||
        echo "$page: line $line of $file does not hold \`$held\`; these do:" $(grep -nF -- "$held" "$tree/$file" | sed 's/:.*//')
done
