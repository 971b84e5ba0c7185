#!/bin/sh
# windows.sh MAKE B: build the library, the programs and the tests for Windows with MinGW-w64, without warnings, in float and in double; run the
# programs' --check, the fingerprint and the tests with wine. No package of Debian has cmocka for Windows: see cmocka_source.sh. What is missing is
# "not run". WINDOWS_CC, WINE and REALS name the compiler, wine and the precisions.
make=$1 b=$2 bad=0
cc=${WINDOWS_CC:-x86_64-w64-mingw32-gcc}
. tests/tools/scratch.sh
not_run() { echo "not run: $*"; }

command -v "${cc##* }" > /dev/null || { not_run "Windows, there is no $cc (apt-get install gcc-mingw-w64-x86-64-posix)"; exit 0; }
claim "$b"
there=$(cd "$b" && pwd)/windows
mkdir -p "$there" || exit 1

case $cc in *-gcc* ) ar=$(echo "${cc##* }" | sed 's/-gcc.*/-ar/') ;; *) ar=ar ;; esac
for_windows() { $make --no-print-directory CC="$cc" AR="$ar" B="$b" WERROR=1 CMOCKA="-I$there/cmocka -L$there/cmocka -lcmocka" "$@"; }

# The tests that use what Windows lacks: fork, calls of the kernel, functions of the library that a test replaces, programs that are started.
lacking='sys/(wait|syscall|mman|resource|ioctl)[.]h|dlfcn[.]h|glob[.]h|define FAILING_FILES|tests/program[.]h|symlink[(]|mkfifo[(]'
tests='' programs='' left_out=''
for source in tests/test_*.c; do
    name=$(basename "$source" .c)
    if grep -qE "$lacking" "$source"; then left_out="$left_out $name"; else tests="$tests $name"; fi
done
not_run "on Windows, which cannot fork and where no test can replace functions of POSIX:$left_out, and the campaigns"
for source in examples/*.c; do case $source in examples/mpi_*) ;; *) programs="$programs $(basename "$source" .c)" ;; esac; done
tests/tools/cmocka_source.sh "$cc" "$ar" "$there/cmocka" || { not_run "the tests on Windows, the source of cmocka cannot be had ($there/cmocka/log)"; tests=; }
for wine in ${WINE:-} wine wine64 /usr/lib/wine/wine64 ''; do [ -z "$wine" ] || command -v "$wine" > /dev/null && break; done
export WINEPREFIX="$there/wine" WINEDEBUG=-all TMPDIR=/tmp

# There is no gzip under wine, so the tests read MNIST unpacked.
for packed in "${GRADUS_DATA:-data}"/mnist/*.gz; do
    [ -f "$packed" ] || break
    mkdir -p "$there/data/mnist" && gzip -dc "$packed" > "$there/data/mnist/$(basename "$packed" .gz)" || exit 1
done
[ ! -d "$there/data" ] || export GRADUS_DATA="$there/data"

# wine goes down when its last program ends, and a program that starts meanwhile may fail. So one program waits until this script ends and closes the pipe.
if [ -n "$wine" ]; then
    [ -p "$there/stays" ] || mkfifo "$there/stays" || exit 1
    "$wine" cmd < "$there/stays" > /dev/null 2>&1 &
    exec 3> "$there/stays"
fi

for real in ${REALS:-float double}; do
    dir=$(for_windows -s REAL=$real where)
    # shellcheck disable=SC2046,SC2086
    for_windows REAL=$real library "$dir/tests/bits/fingerprint.exe" $(for p in $programs; do echo "$dir/examples/$p.exe"; done) \
        $(for t in $tests; do echo "$dir/tests/$t.exe"; done) || exit 1
    [ -n "$wine" ] || { not_run "the programs and tests for Windows in $real, there is no wine (apt-get install wine64)"; continue; }
    passed=0 all=0
    ran() { # ran NAME COMMAND...
        name=$1
        shift
        all=$((all + 1))
        if "$wine" "$@" > "$there/log" 2>&1 3>&-; then passed=$((passed + 1)); else echo "$name for Windows in $real fails ($?):"; tail -n 20 "$there/log"; bad=1; fi
    }
    for p in $programs; do ran "$p --check" "$dir/examples/$p.exe" --check; done
    for t in $tests; do ran "$t" "$dir/tests/$t.exe"; done
    [ $real = double ] || tests/tools/check_bits.sh "$dir" "$wine" 3>&- || bad=1
    echo "Windows, $real: $passed of $all programs and tests pass under wine"
done
exit $bad
