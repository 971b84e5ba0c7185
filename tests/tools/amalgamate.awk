# amalgamate.awk: awk -v out=DIR -f amalgamate.awk HEADERS SOURCES writes the library as DIR/gradus.h and DIR/gradus.c.
#
# gradus.c contains every instruction set: at its end it includes itself once for each further one, under a target pragma. Such a pass
# compiles only the kernels (GR_HOST is 0, see core/kernel.h). The helpers and constants beside a kernel are compiled in every pass, so
# each pass gives them its own names: #define r_exp GR_NAME(r_exp). Structs are the same in all passes and are read in the first.

BEGIN {
    header = out "/gradus.h"; source = out "/gradus.c"
    for (i = 1; i < ARGC; i++) {
        if (ARGV[i] ~ /\.h$/) {
            headers[++n_headers] = ARGV[i]
            if (needs_kernel(ARGV[i])) per_pass[ARGV[i]] = 1
        } else if (has_kernels(ARGV[i])) { kernels[++n_kernels] = ARGV[i]; in_kernels[ARGV[i]] = 1 }
        else hosts[++n_hosts] = ARGV[i]
    }
    write_header()
    write_source()
}

function write_header() {
    say(header, "/* gradus.h - the public interface of gradus in one file. gradus.c is the library. MIT licence. */")
    copied["gradus.h"] = 1
    copy("gradus.h", header)
}

function write_source(    i, n) {
    say(source, "/* gradus.c - gradus in one file: cc -O2 -c gradus.c, and link with -lm -pthread. Every instruction set is in it.")
    say(source, " * -DGR_REAL_DOUBLE, here and where gradus.h is included, makes gr_real double. MIT licence. */")
    say(source, "#ifndef GR_ISA\n#define _GNU_SOURCE\n#ifdef _WIN32")
    copy_once("core/windows.h", source)
    say(source, "#ifndef __clang__\n#define GR_ONE_ISA /* gcc aligns the stack to 16 bytes alone: its bug 54412 */\n#endif\n#endif")
    say(source, "#ifdef __clang__\n#pragma STDC FP_CONTRACT OFF\n#else")
    say(source, "#pragma GCC optimize(\"O3,no-math-errno,no-trapping-math,no-thread-jumps,fp-contract=off\")\n#endif")
    say(source, "#include \"gradus.h\"")
    for (i = 1; i <= n_headers; i++) if (!(headers[i] in per_pass)) copy_once(headers[i], source)
    say(source, "#endif")

    for (i = 1; i <= n_headers; i++) if (headers[i] in per_pass) collect(headers[i], names)
    define(names, source)
    for (i = 1; i <= n_headers; i++) if (headers[i] in per_pass) copy_once(headers[i], source)
    for (i = 1; i <= n_kernels; i++) {
        split("", names)
        collect(kernels[i], names)
        define(names, source)
        copy(kernels[i], source)
        undefine(names, source)
        forget_macros(kernels[i], source)
    }
    say(source, "#if GR_HOST")
    for (i = 1; i <= n_hosts; i++) { copy(hosts[i], source); forget_macros(hosts[i], source) }
    say(source, "#if defined __x86_64__ && !defined GR_ONE_ISA")
    write_pass("avx2", "avx2,fma", 32)
    write_pass("avx512", "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma", 64)
    say(source, "#endif\n#endif")
}

function write_pass(isa, target, bytes) {
    say(source, "#define GR_ISA " isa "\n#define GR_FMA\n#undef GR_VECTOR_BYTES\n#define GR_VECTOR_BYTES " bytes)
    say(source, "#ifdef __clang__\n#pragma clang attribute push(__attribute__((target(\"" target "\"))), apply_to = function)")
    say(source, "#else\n#pragma GCC push_options\n#pragma GCC target(\"" target "\")\n#endif")
    say(source, "#include \"gradus.c\" /* by its name: clang looks for a relative __FILE__ in the wrong folder */")
    say(source, "#ifdef __clang__\n#pragma clang attribute pop\n#else\n#pragma GCC pop_options\n#endif\n#undef GR_ISA\n#undef GR_FMA")
}

function say(to, line) { print line > to }

# ---- Copying: each header of the tree is put where it is first included, a .def list wherever it is included ----

function copy_once(file, to) {
    if (file in copied) return
    copied[file] = 1
    copy(file, to)
}

function copy(file, to,    line, name, in_struct) {
    say(to, "/* ---- " file " ---- */")
    if (file in per_pass) forget_macros(file, to)
    while ((getline line < file) > 0) {
        name = included(line)
        if (name ~ /\.def$/) copy(name, to)
        else if (name != "") copy_once(name, to)
        else if (!(file in per_pass) || !is_guard(file, line)) {
            if ((file in per_pass || file in in_kernels) && line ~ /^(typedef )?(struct|union)( [A-Za-z_0-9]+)? *[{]/) {
                say(to, "#if GR_HOST")
                in_struct = 1
            }
            if (line ~ /^#include <sys\/(file|mman)[.]h>/) line = "#ifndef _WIN32\n" line "\n#endif"
            say(to, line)
            if (in_struct && line ~ /(^}|^[a-z].*}).*;/) { say(to, "#endif"); in_struct = 0 }
        }
    }
    close(file)
}

function included(line,    part) {
    if (line !~ /^[ \t]*#[ \t]*include[ \t]*"/) return ""
    split(line, part, "\"")
    return part[2]
}

# Text that every pass reads again loses its include guard: #ifndef GR_X_H, #define GR_X_H and the last #endif.
function is_guard(file, line) {
    if (line ~ /^#(ifndef|define) GR_[A-Z0-9_]*_H$/) return 1
    if (line ~ /^[ \t]*#[ \t]*if/) depth[file]++
    return line ~ /^[ \t]*#[ \t]*endif/ && depth[file]-- == 0
}

function forget_macros(file, to,    line, name) { # those that a file defines, but for what write_pass says
    while ((getline line < file) > 0)
        if (match(line, /^[ \t]*#[ \t]*define[ \t]+[A-Za-z_0-9]+/)) {
            name = last_word(substr(line, 1, RSTART + RLENGTH - 1))
            if (name != "GR_VECTOR_BYTES") say(to, "#undef " name)
        }
    close(file)
}

function has_kernels(file,    line, found) {
    while (!found && (getline line < file) > 0) found = line ~ /^ *KERNEL[^A-Z_]/
    close(file)
    return found
}

function needs_kernel(file,    line, name) { # does a header include core/kernel.h?
    if (file == "core/kernel.h") return 1
    if (!(file in needs)) {
        needs[file] = 0
        while ((getline line < file) > 0)
            if ((name = included(line)) ~ /\.h$/ && needs_kernel(name)) needs[file] = 1
        close(file)
    }
    return needs[file]
}

# ---- The names that a file defines at file scope, outside KERNEL(...) and #if GR_HOST ----

function collect(file, names,    line, i, c, level, hidden, in_comment, in_define, is_enum, text) {
    while ((getline line < file) > 0) {
        if (in_comment) {
            if (line !~ /\*\//) continue
            sub(/.*\*\//, "", line); in_comment = 0
        }
        gsub("/[*]([^*]|[*][^/])*[*]/", "", line)
        sub(/\/\/.*/, "", line)
        if (line ~ /\/\*/) { sub(/\/\*.*/, "", line); in_comment = 1 }
        if (in_define || line ~ /^[ \t]*#/) {
            if (!in_define && line ~ /^[ \t]*#[ \t]*if/ && (hidden || line ~ /if GR_HOST/)) hidden++
            if (!in_define && line ~ /^[ \t]*#[ \t]*endif/ && hidden) hidden--
            in_define = line ~ /\\$/
            continue
        }
        if (hidden || (level == 0 && line ~ /^ *[A-Z][A-Z_0-9]*(\(.*\))? *$/)) continue # a macro makes what follows
        for (i = 1; i <= length(line); i++) {
            c = substr(line, i, 1)
            if (c == "{" && level++ == 0) { is_enum = text ~ /^ *(typedef )? *enum/; opened(text, names) }
            if (level == 1 && is_enum && c ~ /[,}]/) { constant(text, names); text = "enum " }
            else if (level == 0 && c == ";") { closed(text, names); text = "" }
            else if (level == 0 || is_enum) text = text (c == "{" ? " ," : c)
            if (c == "}" && --level == 0) {
                if (text !~ /^ *(typedef|enum|struct|union|static const|static [^(]*=)/) text = ""
                is_enum = 0
            }
        }
        if (level == 0 && text !~ /^ *$/) text = text " "
    }
    close(file)
}

function opened(text, names) { # before a brace: a function, a table
    text = plain(text)
    if (text ~ /^ *[A-Za-z_0-9]+ *\(/ || text ~ /^ *(typedef *)?(struct|union|enum)/) return # KERNEL and the like; no name, or one for all
    if (match(text, /\( *\*( *const)? *[A-Za-z_0-9]+/) && text ~ /= *$/) add(last_word(substr(text, 1, RSTART + RLENGTH - 1)), names)
    else if (text ~ /= *$/) { sub(/ *(\[[^]]*\] *)*= *$/, "", text); add(last_word(text), names) }
    else { sub(/\(.*/, "", text); if (last_word(text) !~ /^[A-Z_0-9]+$/) add(last_word(text), names) }
}

function closed(text, names) { # before a semicolon: a typedef, a constant
    text = plain(text)
    if (text ~ /^ *typedef *(struct|union)/) return
    if (text ~ /^ *typedef/ && text !~ /\(/) { sub(/(\[[^]]*\])* *$/, "", text); add(last_word(text), names) }
    else if (text ~ /^ *static.*=/) { sub(/ *(\[[^]]*\] *)*=.*/, "", text); add(last_word(text), names) }
}

function constant(text, names) { # of an enum: NAME or NAME = value
    sub(/.*[{,]/, "", text); sub(/=.*/, "", text); sub(/^ *enum /, "", text)
    add(last_word(text), names)
}

function plain(text) {
    while (sub(/__attribute__ *\(\([^()]*(\([^()]*\))?[^()]*\)\)/, "", text));
    return text
}

function last_word(text) {
    sub(/[ \t]+$/, "", text)
    return match(text, /[A-Za-z_][A-Za-z_0-9]*$/) ? substr(text, RSTART) : ""
}

# names["#"] names in the order in which they were found: for (name in names) has another order in every awk.
function add(name, names) {
    if (name == "" || name ~ /^gr_/ || name in names) return
    names[name] = 1
    names["#", ++names["#"]] = name
}

function define(names, to,    i, n) { for (i = 1; i <= names["#"]; i++) { n = names["#", i]; say(to, "#undef " n "\n#define " n " GR_NAME(" n ")") } }
function undefine(names, to,    i) { for (i = 1; i <= names["#"]; i++) say(to, "#undef " names["#", i]) }
