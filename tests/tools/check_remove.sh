#!/bin/sh
# check_remove.sh MAKE: no file of the tree removes a folder with its contents, because with an empty path, or one that holds a space, that
# would be another folder. Only scratch.sh may. First this script must find such lines in a file with planted ones.
. "$(dirname "$0")/scratch.sh"
new_scratch
word='(^|[^A-Za-z0-9_.-])'
forbidden="${word}rm([[:blank:]]+[^;|&]*)?[[:blank:]]+-([A-Za-z]*[rR]|-recursive)|${word}xargs[[:blank:]].*${word}rm([[:blank:]]|\$)|-exec(dir)?[[:blank:]]+rm[[:blank:]]|[[:blank:]]-delete|rmtree|[Rr]emove-[Ii]tem"
search() { # search FILE...: print the lines that are forbidden
    find "$@" -type f ! -name scratch.sh ! -name check_remove.sh ! -path '*/__pycache__/*' -exec grep -InE "$forbidden" /dev/null {} +
}

bad=0
while read -r line; do
    printf 'true\n%s\n' "$line" > "$scratch/planted"
    [ -n "$(search "$scratch/planted")" ] || { echo "check_remove.sh does not find: $line"; bad=1; }
done <<'END'
rm -rf $(B)
	rm -rf $(INCLUDE)
@rm -fr "$dir"
rm -f -r -- "$dir"
rm "$dir" -r
rm --recursive --force "$dir"
trap 'rm -rf "$log"' EXIT
[ -d x ] && /bin/rm -R x
system("rm -r /tmp/x");
find "$dir" -type f -delete
find . -name '*.o' -exec rm {} +
ls | xargs -n 1 rm -f
shutil.rmtree(folder)
END
while read -r line; do
    echo "$line" > "$scratch/planted"
    [ -z "$(search "$scratch/planted")" ] || { echo "check_remove.sh refuses a harmless line: $line"; bad=1; }
done <<'END'
rm -f "$1/$file"
rm -f $@ && $(AR) rcs $@ $^
perform -r "$x"; rm -f a
rmdir "$dir"
END
found=$(search Makefile README.md gradus.h .ci .github core ops nn optim examples tests)
[ -z "$found" ] || { echo "$found"; echo 'a recursive removal: see tests/tools/scratch.sh'; bad=1; }

# make clean removes the folder that make made, and no other folder.
mkdir "$scratch/other" && : > "$scratch/other/file"
for folder in other new; do
    flags=$($1 -s where B="$scratch/$folder")/flags
    $1 -s B="$scratch/$folder" "$flags" && [ -f "$flags" ] || { echo "make B=$scratch/$folder does not work"; bad=1; }
    $1 -s B="$scratch/$folder" EXAMPLES= clean > "$scratch/said" 2>&1
done
[ ! -e "$scratch/new" ] || { echo 'make clean leaves the folder that make made'; bad=1; }
[ -f "$scratch/other/file" ] || { echo 'make clean removes a folder that make did not make'; bad=1; }
exit $bad
