#!/bin/sh
# check_headers.sh CC: every header compiles alone as C11, and every public header (one that gradus.h includes) also as C++17. So does the worked
# example in the first comment of core/op.h (an operator), core/gradcheck.h (a check), ops/ops.h (sampling) and nn/module.h (a module), as C11. ops/ops.h lists the operators of the .def files, each
# in one line with its parameters and a formula, and no others.
cc=$1 bad=0
case $cc in *clang*) cxx=$(echo "$cc" | sed 's/clang/clang++/') ;; *gcc*) cxx=$(echo "$cc" | sed 's/gcc/g++/') ;; *) cxx=c++ ;; esac
warn='-Wall -Wextra -Wpedantic -Wshadow -Werror -Wno-unused-function -fsyntax-only -D_GNU_SOURCE -I.'
for real in '' -DGR_REAL_DOUBLE; do
    for h in gradus.h core/*.h core/io/*.h ops/*.h nn/*.h optim/*.h examples/*/*.h; do
        case $h in */windows.h) continue ;; esac # for MinGW-w64 alone
        echo "#include \"$h\"" | $cc -x c -std=c11 $warn $real - || { echo "$h does not compile alone as C11 $real"; bad=1; }
    done
    for h in core/op.h core/gradcheck.h ops/ops.h nn/module.h; do
        [ "$(sed -n '1,/\*\/$/s/^ \*     //p' $h | wc -l)" -gt 5 ] || { echo "$h has no example in its first comment"; bad=1; }
        { echo '#include "gradus.h"'; sed -n '1,/\*\/$/s/^ \*     //p' $h; } | $cc -x c -std=c11 $warn $real - ||
            { echo "the example in $h does not compile $real"; bad=1; }
    done
    command -v "$cxx" > /dev/null || { echo "not run: headers as C++17, there is no $cxx"; continue; }
    for h in $($cc -MM -I. -x c gradus.h | tr -d '\\' | tr ' ' '\n' | grep '\.h$' | sort -u); do
        echo "#include \"$h\"" | $cxx -x c++ -std=c++17 $warn $real - || { echo "$h does not compile alone as C++17 $real"; bad=1; }
    done
    printf '%s\n' '#include "gradus.h"' 'gr_tensor *same(gr_tape *t, const gr_op *op, gr_tensor *x)' \
        '{ return gr_ready(t, op, x) ? gr_record(t, op, nullptr, 0, GR_OUT(x), GR_IN(x)) : nullptr; }' |
        $cxx -x c++ -std=c++17 $warn $real - || { echo "an operator does not compile as C++17 $real"; bad=1; }
done
awk '
    FILENAME ~ /[.]def$/ && match($0, /^(UNARY|UNARY_NEAR|UNARY_1|UNARY_2|BINARY|COMPARE)\(/) {
        kind = substr($0, 1, RLENGTH - 1)
        split(substr($0, RLENGTH + 1), part, / *, */)
        call = "gr_" part[1] (kind ~ /UNARY/ ? "(t, x" : "(t, a, b") (kind ~ /_[12]/ ? ", " part[2] : "") (kind ~ /_2/ ? ", " part[3] : "") ")"
        if (!(call in listed)) { print "ops/ops.h does not list this operator of " FILENAME " with a formula: " call; bad = 1 }
        delete listed[call]
    }
    FILENAME == "ops/ops.h" && match($0, /^ \*     gr_[a-z0-9_]+\(t, (x|a)[^)]*\) +[^ ]/) {
        call = substr($0, 8); sub(/\).*/, ")", call)
        if (call in listed) { print "ops/ops.h lists " call " twice"; bad = 1 }
        listed[call] = 1
    }
    END { for (call in listed) { print "ops/ops.h lists " call ", which is in no .def file"; bad = 1 }; exit bad }' ops/ops.h ops/unary.def ops/binary.def || bad=1
exit $bad
