#!/bin/sh
# check_install.sh CC MAKE: install into an empty folder; build and run a program outside the tree against it, in C and in C++, static
# and shared, in float and in double; uninstall leaves nothing behind.
cc=$1 make=$2
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
case $cc in *clang*) cxx=$(echo "$cc" | sed 's/clang/clang++/') ;; *gcc*) cxx=$(echo "$cc" | sed 's/gcc/g++/') ;; *) cxx=c++ ;; esac

$make --no-print-directory install PREFIX="$dir/usr" CC="$cc" > "$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
cat > "$dir/program.c" <<'END'
#include <gradus.h>
#include <stdio.h>
int main(void)
{
    const gr_real values[] = { 1, -2, 3, -4 };
    gr_tape *t = gr_tape_new(1);
    gr_tensor *x = gr_want_grad(t, gr_input(t, values, GR_SHAPE(2, 2)));
    gr_tensor *y = gr_mul(t, x, gr_relu(t, x));
    gr_tensor *z = gr_reshape(t, y, GR_SHAPE(4)), *both[] = { gr_slice(t, z, 0, 1), gr_slice(t, z, 2, 1) };
    gr_backward(t, gr_reshape(t, gr_add(t, both[0], both[1]), GR_SCALAR));
    const int good = !gr_failed(t) && gr_grad(t, x)[0] == 2 && gr_grad(t, x)[2] == 6 && gr_grad(t, x)[3] == 0;
    if (!good) printf("%s\n", gr_failed(t) ? gr_message(t) : "wrong gradients");
    gr_tape_free(t);
    return good ? 0 : 1;
}
END
cp "$dir/program.c" "$dir/program.cc"
cd "$dir" || exit 2

bad=0
try() { # try WHAT COMMAND...: build ./program and run it
    what=$1
    shift
    if "$@" -o program > log 2>&1 && ./program >> log 2>&1; then rm -f program; else echo "$what does not work:"; cat log; bad=1; fi
}
for name in gradus gradus-double; do
    library=$(echo $name | tr - _)
    pc=$dir/usr/lib/pkgconfig/$name.pc
    flags=$(sed -n "s|\${prefix}|$dir/usr|; s/^Cflags: //p" "$pc")
    if command -v pkg-config > /dev/null; then
        said=$(PKG_CONFIG_PATH=$dir/usr/lib/pkgconfig pkg-config --cflags "$name" | sed 's/ *$//')
        [ "$(echo $said | tr ' ' '\n' | sort)" = "$(echo $flags | tr ' ' '\n' | sort)" ] ||
            { echo "pkg-config --cflags $name says $said"; bad=1; }
    fi
    warn='-Wall -Wextra -Wpedantic -Werror'
    try "$name, static, C" $cc -std=c11 $warn $flags program.c "usr/lib/lib$library.a" -lm -pthread
    try "$name, shared, C" $cc -std=c11 $warn $flags program.c -Lusr/lib -l$library -Wl,-rpath,"$dir/usr/lib"
    command -v "$cxx" > /dev/null || { echo "not run: installed copy from C++, there is no $cxx"; continue; }
    try "$name, static, C++" $cxx -std=c++17 $warn $flags program.cc "usr/lib/lib$library.a" -lm -pthread
    try "$name, shared, C++" $cxx -std=c++17 $warn $flags program.cc -Lusr/lib -l$library -Wl,-rpath,"$dir/usr/lib"
done
cd - > /dev/null || exit 2
$make --no-print-directory uninstall PREFIX="$dir/usr" > /dev/null
left=$(find "$dir/usr" ! -type d)
[ -z "$left" ] || { echo "make uninstall leaves $left"; bad=1; }
[ $bad = 0 ] && echo "check-install: C and C++, static and shared, float and double"
exit $bad
