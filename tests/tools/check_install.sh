#!/bin/sh
# check_install.sh CC MAKE: install to a path with spaces. Build and run a program outside the tree against it, in C and in C++, static and
# shared, in float and in double, with the flags of pkg-config; then all of them with CMake from a copy in another place; and a program with the
# installed sources of examples/kit, and a lesson. Install over an older version, and into a staged tree. Uninstall removes
# what install put there and nothing else. The tree itself may lie in a path with spaces.
cc=$1 make="$2 --no-print-directory"
. "$(dirname "$0")/scratch.sh"
new_scratch
dir=$scratch bad=0
case $cc in *clang*) cxx=$(echo "$cc" | sed 's/clang/clang++/') ;; *gcc*) cxx=$(echo "$cc" | sed 's/gcc/g++/') ;; *) cxx=c++ ;; esac

wrong() { echo "$*"; bad=1; }
inst() { $make install CC="$cc" "$@" > "$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }; }
uninst() { $make uninstall "$@" > "$dir/log" 2>&1; }
all_in() { find "$1" | sort; }
says() { grep -qxF "$1" "$dir/log" || wrong "no message \"$1\", but: $(cat "$dir/log")"; }

# ---- Programs outside the tree ----

prefix="$dir/my prefix"
mkdir -p "$dir/my" "$prefix/lib" "$prefix/include" && echo mine > "$dir/my/file" && echo mine > "$prefix/include/mine.h"
before=$(all_in "$dir/my"; all_in "$prefix")
inst PREFIX="$prefix"
cat > "$dir/program.c" <<'END'
#include <gradus.h>
#include <stdio.h>
int main(void)
{
    const gr_real values[] = { 1, -2, 3, -4 };
    gr_tape *t = gr_tape_new(1, NULL);
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

try() { # try WHAT COMMAND...: build a program and run it
    what=$1
    shift
    if "$@" -o "$dir/program" > "$dir/log" 2>&1 && "$dir/program" >> "$dir/log" 2>&1; then rm -f "$dir/program"
    else wrong "$what does not work:"; cat "$dir/log"; fi
}
pc() { # pc FLAG NAME: as pkg-config says it, quoted for a shell; without pkg-config, as the file says it
    if command -v pkg-config > /dev/null; then PKG_CONFIG_PATH="$prefix/lib/pkgconfig" pkg-config "$1" "$2"
    else
        at=$(sed -n 's/^prefix=//p' "$prefix/lib/pkgconfig/$2.pc") field=$(echo "$1" | sed 's/--c/C/; s/--l/L/')
        sed -n "s/^$field: //p" "$prefix/lib/pkgconfig/$2.pc" | sed "s|\${prefix}|$at|"
    fi
}
command -v pkg-config > /dev/null || echo 'not run: the flags of pkg-config, there is no pkg-config'
for name in gradus gradus-double; do
    library=$prefix/lib/lib$(echo $name | tr - _).a
    for language in C C++; do
        if [ $language = C ]; then compile="$cc -std=c11" source=$dir/program.c; else compile="$cxx -std=c++17" source=$dir/program.cc; fi
        command -v "${compile%% *}" > /dev/null || { echo "not run: the installed copy from C++, there is no $cxx"; continue; }
        eval "set -- $(pc --cflags $name) \"\$source\""
        try "$name, static, $language" $compile -Wall -Wextra -Wpedantic -Werror "$@" "$library" -lm -pthread
        eval "set -- \"\$@\" $(pc --libs $name)"
        try "$name, shared, $language" $compile -Wall -Wextra -Wpedantic -Werror "$@" -Wl,-rpath,"$prefix/lib"
    done
done

# ---- A static program without what it does not call ----

bytes() { $cc -std=c11 -O2 -I"$prefix/include/gradus" examples/quickstart.c "$prefix/lib/libgradus.a" -s "$@" -lm -pthread -o "$dir/program" && wc -c < "$dir/program"; }
whole=$(bytes) part=$(bytes -Wl,--gc-sections) && "$dir/program" --check > /dev/null && [ $((part * 10)) -lt $((whole * 7)) ] ||
    wrong "with -Wl,--gc-sections a static quickstart has $part bytes, without $whole; it should have less than 7 in 10"

# ---- CMake finds the copy wherever it lies ----

with_cmake() {
    mv "$prefix" "$dir/moved" && mkdir "$dir/cmake" || return
    cat > "$dir/cmake/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.10)
project(program C)
find_package(gradus ${WANTED} REQUIRED)
find_package(gradus REQUIRED) # a second call changes nothing
foreach(target gradus static double double_static)
    add_executable(${target} ../program.c)
    target_link_libraries(${target} gradus::${target})
endforeach()
END
    cmake_with() { (cd "$dir/cmake" && CC=${cc##* } cmake -DCMAKE_PREFIX_PATH="$dir/moved" -DWANTED="$1" . > "$dir/log" 2>&1); }
    for wanted in "${version%.*}.99" 99.0 "${version%.*}9"; do
        cmake_with "$wanted" && wrong "CMake takes version $version where a program asks for $wanted"
        grep -q "$version" "$dir/log" || wrong "CMake does not name the version that it found: $(cat "$dir/log")"
    done
    for wanted in '' "${version%.*}" "$version;EXACT"; do
        cmake_with "$wanted" || wrong "CMake does not find gradus $wanted: $(cat "$dir/log")"
    done
    (cd "$dir/cmake" && cmake --build . > "$dir/log" 2>&1 && for program in gradus static double double_static; do ./$program || exit; done >> "$dir/log") ||
        wrong "what CMake builds does not work: $(cat "$dir/log")"
    mv "$dir/moved" "$prefix"
}
version=$(sed -n 's/^Version: //p' "$prefix/lib/pkgconfig/gradus.pc")
if cmake --version > /dev/null 2>&1; then with_cmake; else echo 'not run: find_package(gradus), there is no cmake'; fi

# ---- A program with the sources of examples/kit ----

mkdir "$dir/copy" && cp "$prefix/share/gradus/kit/"* "$dir/copy"
printf '\0\0\010\001\0\0\0\003\007\001\011' > "$dir/labels"
cat > "$dir/copy/main.c" <<'END'
#include "idx.h"
#include "kit.h"
#include <gradus.h>
int main(int argc, char **argv)
{
    gr_tape *t = gr_tape_new(1, NULL);
    kit_idx labels = kit_idx_read(t, argv[argc - 1], "labels", 0);
    const bool good = labels.n == 3 && labels.data[0] == 7 && labels.data[2] == 9;
    if (!good) printf("%s\n", gr_failed(t) ? gr_message(t) : "wrong labels");
    kit_idx_free(t, &labels), gr_tape_free(t);
    return !good;
}
END
# shellcheck disable=SC2016
(eval "set -- $(pc --cflags gradus) \"\$dir\"/copy/*.c $(pc --libs gradus)" && $cc -std=c11 -D_GNU_SOURCE "$@" -Wl,-rpath,"$prefix/lib" -lm -o "$dir/program" &&
    "$dir/program" "$dir") > "$dir/log" 2>&1 || wrong "a program with the installed sources of examples/kit does not work: $(cat "$dir/log")"

# ---- A lesson in a folder outside of the tree: its quiz is printed, its solution passes, and its stub does not ----

lesson() { # lesson COMMAND [VARIABLE=..]
    PKG_CONFIG_PATH="$prefix/lib/pkgconfig" $make -s -C "$dir/my lessons" CC="$cc" N="${first%%_*}" "$@" > "$dir/log" 2>&1
}
if command -v pkg-config > /dev/null; then
    cp -pR examples/lessons "$dir/my lessons"
    first=$(cd "$dir/my lessons" && for folder in [0-9][0-9]_*; do echo "$folder"; break; done)
    lesson quiz && diff "$dir/log" "examples/lessons/$first/answers.txt" > /dev/null && lesson grade E="$first/solution.c" ||
        wrong "lesson $first does not work with an installed copy: $(cat "$dir/log")"
    ! lesson grade || wrong "the stub of lesson $first passes"
fi

# ---- Install again, over an older version; uninstall ----

list=$prefix/share/gradus/installed
cp "$list" "$dir/list"
inst PREFIX="$prefix"
cmp -s "$list" "$dir/list" || wrong 'a second install changes the list of what is installed'
mkdir "$prefix/include/gradus/old" && echo old > "$prefix/include/gradus/old/old.h"
printf 'd include/gradus/old\nf include/gradus/old/old.h\n' >> "$list"
inst PREFIX="$prefix"
[ ! -e "$prefix/include/gradus/old" ] || wrong 'what only an older version has is left behind'
cmp -s "$list" "$dir/list" || wrong 'an install over an older version leaves another list'
all_in "$prefix" | grep '[.]new$' && wrong 'install leaves a file with a temporary name'

echo 'f ../my/file' >> "$list"
all=$(all_in "$prefix")
uninst PREFIX="$prefix" && wrong 'uninstall follows a list that leads out of PREFIX'
says "$list is not a list that make install wrote; nothing was changed"
[ "$all" = "$(all_in "$prefix")" ] || wrong 'uninstall removes something although the list is wrong'
cp "$dir/list" "$list"
uninst PREFIX="$prefix" || wrong "uninstall fails: $(cat "$dir/log")"
[ "$before" = "$(all_in "$dir/my"; all_in "$prefix")" ] ||
    wrong "install and uninstall do not leave what was there before, but: $(all_in "$dir/my"; all_in "$prefix")"
uninst PREFIX="$prefix" && wrong 'uninstall without a list does not fail'
says "there is no $list, where make install lists what it puts there; nothing was removed"
[ "$before" = "$(all_in "$dir/my"; all_in "$prefix")" ] || wrong 'uninstall without a list removes something'

# ---- A staged tree, and paths with characters that a shell or make would interpret ----

inst DESTDIR="$dir/a stage" PREFIX=/usr/local
[ "$(sed -n 1p "$dir/a stage/usr/local/lib/pkgconfig/gradus.pc")" = prefix=/usr/local ] || wrong 'DESTDIR reaches gradus.pc'
mkdir "$dir/root" && cp -R "$dir/a stage/usr" "$dir/root" && uninst DESTDIR="$dir/root" PREFIX=/usr/local || wrong 'a tree that was moved cannot be uninstalled'
[ -z "$(find "$dir/root" ! -type d)" ] || wrong 'uninstall of a tree that was moved leaves files'
[ "$(cd "$dir/root" && all_in . | tr '\n' ' ')" = '. ./usr ./usr/local ./usr/local/include ./usr/local/lib ./usr/local/lib/cmake ./usr/local/lib/pkgconfig ./usr/local/share ' ] ||
    wrong "uninstall of a tree that was moved removes folders of others, or leaves its own: $(all_in "$dir/root")"
uninst DESTDIR="$dir/a stage" PREFIX=/usr/local || wrong "uninstall with DESTDIR fails: $(cat "$dir/log")"
[ ! -e "$dir/a stage" ] || wrong "uninstall leaves empty folders that install made: $(all_in "$dir/a stage")"
odd="/opt/it's \"\$x\""
inst DESTDIR="$dir/a \$y" PREFIX="$odd"
says "pkg-config gives no usable flags for a PREFIX with one of \$ \\ \` ( ): write -I$odd/include/gradus and -L$odd/lib yourself"
[ -f "$dir/a \$y$odd/include/gradus/gradus.h" ] || wrong "install does not take PREFIX as it stands: $(all_in "$dir")"
uninst DESTDIR="$dir/a \$y" PREFIX="$odd" && [ ! -e "$dir/a \$y" ] || wrong 'uninstall does not take PREFIX as it stands'
for path in usr ''; do
    uninst PREFIX="$path" && wrong "PREFIX='$path' is taken"
    says "PREFIX must be an absolute path; got '$path'"
done

DESTDIR="$dir/half" PREFIX=/usr tests/tools/install.sh "$dir/no build" 1.2.3 '' gradus.h 2> /dev/null && wrong 'install works without a library'
uninst DESTDIR="$dir/half" PREFIX=/usr && [ ! -e "$dir/half" ] || wrong "an install that failed cannot be uninstalled: $(cat "$dir/log")"
mkdir -p "$dir/linked/include" && ln -s "$dir/my" "$dir/linked/include/gradus"
inst_to_link="$dir/linked/include/gradus is a symbolic link, and what it leads to is not ours; nothing was changed"
$make install CC="$cc" PREFIX="$dir/linked" > "$dir/log" 2>&1 && wrong 'install writes through a symbolic link'
says "$inst_to_link"

# ---- The tree in a path with spaces ----

tree="$dir/a tree" built=$($make -s where CC="$cc") && mkdir -p "$tree/${built%/*}" &&
    cp -pR Makefile gradus.h core ops nn optim examples tests "$tree" && cp -pR "${built%/*}/float" "${built%/*}/double" "$tree/${built%/*}" &&
    touch "$tree/ops/unary.c" && $make -C "$tree" CC="$cc" library examples/quickstart > "$dir/log" 2>&1 &&
    (cd "$tree" && examples/quickstart --check > /dev/null) || wrong "the tree cannot be built in a path with spaces: $(cat "$dir/log")"

[ $bad = 0 ] && echo "check-install: C, C++ and CMake, static and shared, float and double; uninstall removes what install made"
exit $bad
