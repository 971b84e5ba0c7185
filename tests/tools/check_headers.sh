#!/bin/sh
# check_headers.sh CC: every header compiles alone as C11, and every public header (one that gradus.h includes) also as C++17. So does the worked
# example in the first comment of core/op.h (an operator) and of nn/module.h (a module), as C11. ops/ops.h lists the operators of the .def files;
# a name that it lacks is an error only with GRADUS_RECORDS=1.
cc=$1 bad=0
case $cc in *clang*) cxx=$(echo "$cc" | sed 's/clang/clang++/') ;; *gcc*) cxx=$(echo "$cc" | sed 's/gcc/g++/') ;; *) cxx=c++ ;; esac
warn='-Wall -Wextra -Wpedantic -Wshadow -Werror -Wno-unused-function -fsyntax-only -D_GNU_SOURCE -I.'
for real in '' -DGR_REAL_DOUBLE; do
    for h in gradus.h core/*.h core/io/*.h ops/*.h nn/*.h optim/*.h examples/*/*.h; do
        [ -f "$h" ] || continue
        echo "#include \"$h\"" | $cc -x c -std=c11 $warn $real - || { echo "$h does not compile alone as C11 $real"; bad=1; }
    done
    for h in core/op.h nn/module.h; do
        [ "$(sed -n '1,/\*\/$/s/^ \*     //p' $h | wc -l)" -gt 5 ] || { echo "$h has no example in its first comment"; bad=1; }
        { echo '#include "gradus.h"'; sed -n '1,/\*\/$/s/^ \*     //p' $h; } | $cc -x c -std=c11 $warn $real - ||
            { echo "the example in $h does not compile $real"; bad=1; }
    done
    command -v "$cxx" > /dev/null || { echo "not run: headers as C++17, there is no $cxx"; continue; }
    for h in $($cc -MM -I. -x c gradus.h | tr -d '\\' | tr ' ' '\n' | grep '\.h$' | sort -u) ops/composed.h; do
        echo "#include \"$h\"" | $cxx -x c++ -std=c++17 $warn $real - || { echo "$h does not compile alone as C++17 $real"; bad=1; }
    done
    printf '%s\n' '#include "gradus.h"' 'gr_tensor *same(gr_tape *t, const gr_op *op, gr_tensor *x)' \
        '{ return gr_ready(t, op, x) ? gr_record(t, op, nullptr, 0, GR_OUT(x), GR_IN(x)) : nullptr; }' |
        $cxx -x c++ -std=c++17 $warn $real - || { echo "an operator does not compile as C++17 $real"; bad=1; }
done
for name in $(sed -n 's/^[A-Z][A-Z_0-9]*(\([a-z_0-9]*\),.*/gr_\1/p' ops/unary.def ops/binary.def); do
    grep -qw "$name" ops/ops.h && continue
    echo "not run: no line of ops/ops.h lists $name"
    [ -z "${GRADUS_RECORDS:-}" ] || bad=1
done
exit $bad
