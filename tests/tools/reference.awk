# reference.awk HEADER...: a line for each public function, with tabs between: name, file:line, signature, first sentence, all of its comment.
# In a comment \036 ends a line. The comment of a function stands behind it on the line, or else above it; one above several functions belongs to all, up to an empty line.
# The operators of a .def file are read from there: their formula is the sentence.

function plain(text) # a comment without its marks, on one line
{
    gsub(/[ \t]*\*+\/[ \t]*$/, "", text)
    if (!sub(/^[ \t]*\/\*+[ \t]*/, "", text)) sub(/^[ \t]*\*[ \t]?/, "", text)
    return text
}
# The first sentence, or one that begins with the name of the function without gr_; without the formulas that a colon announces, but with the line of a list that is about this function. Shortened to 160.
function sentence(text, name,    n, row, i, own, at)
{
    n = split(text, row, "\036"); text = ""; own = ""
    sub(/^gr_/, "", name)
    for (i = 1; i <= n; i++)
        if (row[i] ~ /^   / && index(row[i], " " name "  ")) { own = row[i]; sub(".* " name "  +", "", own) }
    for (i = 1; i <= n && !(text ~ /:$/ && row[i] ~ /^   /); i++) { sub(/^ +/, "", row[i]); text = text (i == 1 ? "" : " ") row[i] }
    gsub(/[ ]+/, " ", text); gsub(/[-=][-=][-=]+ ?/, "", text)
    if (own == "" && match(text, "[.] " name " ")) text = substr(text, RSTART + 2)
    if (match(text, /[^. ][.] [A-Za-z0-9]/)) text = substr(text, 1, RSTART + 1)
    if (length(text) > 160 && (at = index(text, ": ")) > 20 && at < 160) text = substr(text, 1, at - 1)
    if (length(text) > 160) { text = substr(text, 1, 158); sub(/ [^ ]*$/, " ..", text) }
    sub(/[:;, ]+$/, "", text)
    gsub(/  +/, " ", own)
    if (own != "") { sub(/[.]$/, "", text); text = text ": " own }
    return text
}
function emit(declaration, beside,    name, about)
{
    gsub(/[ \t]+/, " ", declaration); sub(/^GR_API /, "", declaration); sub(/ __attribute__.*/, ";", declaration)
    name = declaration; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name)
    about = beside != "" ? beside : block != "" ? block : section
    gsub(/\t/, " ", about)
    printf "%s\t%s:%d\t%s\t%s\t%s\n", name, FILENAME, line, declaration, sentence(about, name), about
}
function operator(kind, rest,    field, n, depth, i, c, name, inputs, formula) # NAME, parameters, formula of the value, ...
{
    n = 1; depth = 0; field[1] = ""
    for (i = 1; i <= length(rest) && depth >= 0; i++) {
        c = substr(rest, i, 1); depth += (c == "(") - (c == ")")
        if (c == "," && !depth) field[++n] = ""
        else if (depth >= 0) field[n] = field[n] c
    }
    for (i = 1; i <= n; i++) { gsub(/^ +| +$/, "", field[i]); gsub(/[ ]+/, " ", field[i]) }
    name = "gr_" field[1]; formula = field[kind == "UNARY_1" ? 3 : kind == "UNARY_2" ? 4 : 2]
    gsub(/r_/, "", formula)
    inputs = kind ~ /^UNARY/ ? "x" : "a, gr_tensor *b"
    if (kind == "UNARY_1" || kind == "UNARY_2") inputs = inputs ", double " field[2]
    if (kind == "UNARY_2") inputs = inputs ", double " field[3]
    formula = "Elementwise: " formula
    printf "%s\t%s:%d\tgr_tensor *%s(gr_tape *t, gr_tensor *%s);\t%s\t%s\n", name, FILENAME, FNR, name, inputs, formula, formula
}

FNR == 1 { block = ""; section = ""; inside = ""; pending = ""; fresh = 0 }
FILENAME ~ /[.]def$/ { if (match($0, /^(UNARY|UNARY_1|UNARY_2|UNARY_NEAR|BINARY|COMPARE)\(/)) operator(substr($0, 1, RLENGTH - 1), substr($0, RLENGTH + 1)); next }
pending != "" { # a declaration or a comment beside it that goes on
    sub(/^[ \t]+/, ""); pending = pending " " $0
}
pending == "" && inside == "" && /^\/\*/ { inside = "block"; block = ""; above = "" }
inside == "block" {
    block = block (block == "" ? "" : "\036") plain($0)
    if (/\*\//) { inside = ""; if (block ~ /^(----|====)/) { section = block; block = "" } }
    next
}
pending == "" && /^(GR_API|static inline) / { pending = $0; line = FNR }
pending != "" {
    declared = pending
    if (pending ~ /^static inline/) { # up to the body
        if (!match(pending, /\)/)) next
        declared = substr(pending, 1, RSTART) ";"; sub(/^static inline /, "", declared)
        sub(/\);$/, ");", declared)
        if (declared ~ /[ *]gr_[a-z0-9_]+\(/) emit(declared, "")
        pending = ""; next
    }
    if (!match(pending, /;/)) next
    declared = substr(pending, 1, RSTART); beside = substr(pending, RSTART + 1); sub(/^[ \t]+/, "", beside)
    if (beside ~ /^\/\*/ && beside !~ /\*\//) next
    emit(declared, beside ~ /^\/\*/ ? plain(beside) : "")
    pending = ""; next
}
/^[ \t]*$/ { block = "" }
