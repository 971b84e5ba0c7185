#!/bin/sh
# check_circles.sh CC DIR SOURCE...: no headers include each other in a circle, and no sources of the library, whose objects are in DIR,
# call each other in a circle. Every function that an installed header declares is exported by the shared library or defined in the header.
cc=$1 dir=$2 bad=0
shift 2

# Lines "from to why": print a circle for every edge that must be removed, and fail if there is one.
circles() {
    awk '
    {
        from = $1; to = $2
        add(from); add(to)
        if (!((from, to) in why)) out[from] = out[from] " " to
        $1 = $2 = ""
        why[from, to] = $0
    }
    function add(file) { if (!(file in seen)) { seen[file] = 1; names[++n] = file } }
    # The next file on a path from `file` that never ends; "" if all paths end.
    function onward(file,    to, i, k) {
        k = split(out[file], to, " ")
        for (i = 1; i <= k; i++) if (!(to[i] in ends) && !((file, to[i]) in cut)) return to[i]
        return ""
    }
    function remove_ends(    i, more) {
        do {
            more = 0
            for (i = 1; i <= n; i++) if (!(names[i] in ends) && onward(names[i]) == "") ends[names[i]] = more = 1
        } while (more)
    }
    function report(at,    to, met) { # the first walk finds a file of the circle, the second walks around it
        for (; !(at in met); at = onward(at)) met[at] = 1
        print "a circle:"
        split("", met)
        for (; !(at in met); at = to) {
            met[at] = 1; to = onward(at)
            printf "    %s%s\n", at, substr(why[at, to], 2)
            last = at
        }
        cut[last, at] = 1
    }
    END {
        for (remove_ends(); ; remove_ends()) {
            for (i = 1; i <= n && names[i] in ends; i++);
            if (i > n) break
            found = 1; report(names[i])
        }
        if (!n) print "no file was read"
        exit found || !n
    }'
}

find gradus.h core ops nn optim examples tests -name '*.h' -exec awk '
    /^[ \t]*#[ \t]*include[ \t]*"/ { split($0, quoted, "\""); print FILENAME, quoted[2], "includes " quoted[2] }' {} + | circles || bad=1

for source; do
    nm "$dir/${source%.c}".*o | awk -v file="$source" '
        NF == 3 && $2 ~ /^[TDRB]$/ && $3 ~ /^gr_/ { print "defines", file, $3 }
        NF == 2 && $1 == "U" && $2 ~ /^gr_/ { print "calls", file, $2 }'
done | sort -r | awk '
    $1 == "defines" { home[$3] = $2 }
    $1 == "calls" && ($3 in home) && home[$3] != $2 { print $2, home[$3], "calls " $3 " of " home[$3] }' | circles || bad=1

{
    nm -D --defined-only "$dir"/libgradus*.so.* | sed 's/.* /exported /'
    $cc -E -P -I. -x c gradus.h
} | awk '
    function declared(text) { # the function that a statement at file scope declares
        gsub(/__attribute__ *\(\(visibility\("default"\)\)\)/, "", text)
        return text !~ /^[ \t]*(typedef|static)/ && match(text, /gr_[a-z0-9_]+ *\(/) ? substr(text, RSTART, RLENGTH - 1) : ""
    }
    $1 == "exported" && NF == 2 { exported[$2] = 1; next }
    {
        for (i = 1; i <= length($0); i++) {
            c = substr($0, i, 1)
            if (c == "{") level++
            else if (c == "}") { if (--level == 0 && text ~ /\)[ \t]*$/) text = "" }
            else if (level == 0 && c == ";") {
                f = declared(text); text = ""; functions += f != ""
                if (f != "" && !(f in exported)) { print "an installed header declares " f ", which no program can link"; found = 1 }
            } else if (level == 0) text = text c
        }
        if (level == 0) text = text " "
    }
    END { if (!functions) print "no function was found in the installed headers"; exit found || !functions }' || bad=1
exit $bad
