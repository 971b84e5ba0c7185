# scratch.sh, for other scripts: . "$(dirname "$0")/scratch.sh". It makes folders and removes them with their contents. Nothing else in the
# tree may do that (check_remove.sh). A folder gets a mark when it is made, and a folder without the mark is never removed.
mark=.made-by-gradus

# claim FOLDER: make it and mark it, unless it exists.
claim() { [ -d "$1" ] || { mkdir -p "$1" && : > "$1/$mark"; }; }

# remove_claimed FOLDER: remove it and its contents if claim made it. It need not exist.
remove_claimed() {
    [ -e "$1" ] || [ -L "$1" ] || return 0
    if [ -L "$1" ] || [ ! -f "$1/$mark" ]; then
        echo "$1 stays: it holds no $mark, so this tree did not make it. Remove it yourself." >&2
        return 1
    fi
    find "$1" -depth -delete
}

# new_scratch: set $scratch to a new folder, which is removed when the script ends.
new_scratch() {
    scratch=$(mktemp -d) && : > "$scratch/$mark" || exit 2
    trap 'remove_claimed "$scratch"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
}
