#!/bin/sh
# check_readme.sh: the README shows examples/quickstart.c as it is (its first block of C), and what it links to exists.
awk '/^```c$/ { show = 1; next } /^```$/ { if (show) exit } show' README.md | diff - examples/quickstart.c ||
    { echo "README.md does not show examples/quickstart.c as it is"; exit 1; }
bad=0
for link in $(grep -o '](\.\{0,1\}[a-zA-Z][^):#]*)' README.md .github/CONTRIBUTING.md | sed 's/.*](//; s/)$//'); do
    [ -e "$link" ] || [ -e ".github/$link" ] || { echo "a link leads to $link, which is not there"; bad=1; }
done
exit $bad
