# scratch.sh, for other scripts: . "$(dirname "$0")/scratch.sh". Folders that go away as a whole, which nothing else in the tree may do
# (check_remove.sh). A folder carries a mark from the moment that it is made; without the mark it stays.
mark=.made-by-gradus

# claim FOLDER: make it and mark it, unless it is there.
claim() { [ -d "$1" ] || { mkdir -p "$1" && : > "$1/$mark"; }; }

# remove_claimed FOLDER: remove it and all that is in it, if claim made it. It may be gone already.
remove_claimed() {
    [ -e "$1" ] || [ -L "$1" ] || return 0
    if [ -L "$1" ] || [ ! -f "$1/$mark" ]; then
        echo "$1 stays: it holds no $mark, so this tree did not make it. Remove it yourself." >&2
        return 1
    fi
    find "$1" -depth -delete
}

# new_scratch: $scratch is an empty folder from now on, until the script ends.
new_scratch() {
    scratch=$(mktemp -d) && : > "$scratch/$mark" || exit 2
    trap 'remove_claimed "$scratch"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
}
