# misuse.awk: awk -f misuse.awk misuse.c PROTOTYPES writes, for each public prototype, a function that calls it with arguments from
# pick_TYPE, and the table of these functions. PROTOTYPES is the preprocessed gradus.h. misuse.c has own_NAME for a function that needs more,
# and keep_TYPE or POOL(TYPE) for results that later calls may get. A type without pick_TYPE does not compile, so no function is left out.

FNR == NR {
    if (match($0, /own_gr_[a-z0-9_]+\(void\)/)) own[substr($0, RSTART + 4, RLENGTH - 10)] = 1
    if (match($0, /^(POOL|OWNED|MODULE)\([a-z0-9_]+/)) { kept = substr($0, RSTART, RLENGTH); sub(/.*\(/, "", kept); keeps[kept "_p"] = 1 }
    if (match($0, /^static void keep_[a-z0-9_]+\(/)) keeps[substr($0, RSTART + 17, RLENGTH - 18)] = 1
    next
}
{ text = text " " $0 }

function mangled(type) {
    gsub(/const/, "", type)
    gsub(/\*/, " p", type)
    gsub(/^ +| +$/, "", type)
    gsub(/ +/, "_", type)
    return type
}

function emit(prototype,    head, name, result, list, n, i, parts, type, argument, calls) {
    gsub(/__attribute__\(\(visibility\("default"\)\)\)|__attribute__\(\(format\([^)]*\)\)\)/, "", prototype)
    gsub(/ +/, " ", prototype)
    head = prototype; sub(/\(.*/, "", head)
    name = head; sub(/.*[ *]/, "", name)
    result = substr(head, 1, length(head) - length(name))
    names[++count] = name
    if (name in own) return
    list = prototype; sub(/^[^(]*\(/, "", list); sub(/\)[^)]*$/, "", list)
    print "static void own_" name "(void)\n{"
    n = list ~ /^ *(void)? *$/ ? 0 : split(list, parts, ",")
    for (i = 1; i <= n; i++) {
        type = argument = parts[i]
        sub(/\[[0-9]*\]/, "", argument); sub(/.*[ *]/, "", argument)
        if (type ~ /\[/) { sub(/ *[a-z_0-9A-Z]*\[.*/, " *", type) }
        else type = substr(type, 1, length(type) - length(argument))
        sub(/^ +/, "", type)
        print "    " type " a" i " = pick_" mangled(type) "(\"" argument "\");"
        calls = calls (i > 1 ? ", " : "") "a" i
    }
    call = name "(" calls ")"
    if (mangled(result) in keeps) print "    keep_" mangled(result) "(" call ");\n}"
    else print "    (void)" call ";\n}"
}

END {
    n = split(text, statement, /[;{}]/)
    for (k = 1; k <= n; k++) if (statement[k] ~ /visibility\("default"\)/ && statement[k] ~ /gr_[a-z0-9_]+\(/) emit(statement[k])
    print "static const struct { const char *name; void (*call)(void); } calls[] = {"
    for (k = 1; k <= count; k++) print "    { \"" names[k] "\", own_" names[k] " },"
    print "};"
}
