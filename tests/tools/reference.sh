#!/bin/sh
# reference.sh 'CC' DIR OUT: write OUT/api.txt and OUT/index.html, every public function from A to Z with its signature, the first sentence of
# its comment, its place, its name in PyTorch and the programs that use it, and OUT/man3/NAME.3, a manual page for each.
cc=$1 dir=$2 out=$3
. "$(dirname "$0")/scratch.sh"
new_scratch
tools=$(dirname "$0")
"$tools/api.sh" --lines "$cc" "$dir" | sort > "$scratch/functions" || exit 1
headers=$(cut -f 2 "$scratch/functions" | sort -u)
awk -f "$tools/reference.awk" $headers | sort -t "$(printf '\t')" -k 1,1 > "$scratch/comments" || exit 1
mkdir -p "$out/man3"
awk -F '\t' -v out="$out" '
    function html(s) { gsub(/&/, "\\&amp;", s); gsub(/</, "\\&lt;", s); gsub(/>/, "\\&gt;", s); return s }
    function roff(s) { gsub(/\\/, "\\e", s); gsub(/-/, "\\-", s); return s ~ /^[.\047]/ ? "\\&" s : s }
    function described(s,    n, row, i, all) { n = split(s, row, "\036"); for (i = 1; i <= n; i++) all = all roff(row[i]) "\n"; return ".nf\n" all ".fi" }
    FILENAME ~ /functions$/ { torch[$1] = $3; users[$1] = $4; next }
    !($1 in torch) || $1 in done { next }
    {
        done[$1] = 1; count++
        if ($4 == "") { print $2 ": " $1 " has no comment" > "/dev/stderr"; bad = 1 }
        text = out "/api.txt"; page = out "/index.html"; man = out "/man3/" $1 ".3"
        if (count == 1) {
            print "gradus: the public functions from A to Z\n" > text
            print "<!doctype html><meta charset=\"utf-8\"><title>gradus: A to Z</title><style>body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;" \
                "padding:0 1em}dt{margin-top:1em}code{font-size:90%}dd{margin-left:2em}small{color:#555}</style>\n<h1>gradus: the public functions from A to Z</h1>" \
                "\n<input id=\"find\" placeholder=\"find\" aria-label=\"find\">\n<dl>" > page
        }
        says = "    " $4 (torch[$1] == "" ? "" : "\n    PyTorch: " torch[$1]) (users[$1] == "" ? "" : "\n    used by " users[$1])
        print $1 "    " $2 "\n    " $3 "\n" says "\n" > text
        print "<div><dt id=\"" $1 "\"><code>" html($3) "</code><dd>" html($4) "<br><small>" html($2) (torch[$1] == "" ? "" : "; PyTorch: <code>" \
            html(torch[$1]) "</code>") (users[$1] == "" ? "" : "; used by " html(users[$1])) "</small></div>" > page
        print ".TH " $1 " 3 \"\" gradus\n.SH NAME\n" $1 " \\- " roff($4) "\n.SH SYNOPSIS\n.B #include <gradus.h>\n.PP\n.B " roff($3) \
            "\n.SH DESCRIPTION\n" described($5) "\n.SH SEE ALSO\n" roff($2) > man
        close(man)
    }
    END {
        for (name in torch) if (!(name in done)) { print name " was not found in its header" > "/dev/stderr"; bad = 1 }
        print "</dl>\n<script>document.getElementById(\"find\").oninput=e=>{for(const d of document.querySelectorAll(\"dl div\"))" \
            "d.hidden=!d.textContent.toLowerCase().includes(e.target.value.toLowerCase())}</script>" > page
        print "  " out "/api.txt, " out "/index.html and " out "/man3: " count " functions"
        exit bad
    }' "$scratch/functions" "$scratch/comments"
