#!/bin/sh
# compilers.sh MAKE B: build the library without warnings with every gcc from 9 on and every clang from 13 on that is here, and compare the
# fingerprints (check_bits.sh). Then musl: also the tests, with cmocka_source.sh. COMPILERS names the compilers instead.
make=$1 b=$2 bad=0
. tests/tools/scratch.sh
claim "$b"
built=''

with() { $make --no-print-directory CC="$cc" B="$b" WERROR=1 REAL=float "$@"; }
bits_of() {
    dir=$(with -s where)
    with library "$dir/tests/bits/fingerprint" "$dir/examples/seq_mnist_lstm" > "$b/compilers.log" 2>&1 || { echo "$cc does not build the library:"; tail -n 30 "$b/compilers.log"; return 1; }
    tests/tools/check_bits.sh "$dir" || { echo "$cc gives other bits"; return 1; }
}

for cc in ${COMPILERS:-gcc-9 gcc-10 gcc-11 gcc-12 gcc-13 gcc-14 clang-13 clang-14 clang-15 clang-16 clang-17 clang-18 clang-19}; do
    command -v "${cc##* }" > /dev/null || { echo "not run: $cc, which is not here"; continue; }
    if bits_of; then built="$built $cc"; else bad=1; fi
done

cc=musl-gcc
if ! command -v $cc > /dev/null; then echo "not run: musl, there is no musl-gcc (apt-get install musl-tools)"
elif ! bits_of; then bad=1
else
    built="$built musl"
    cmocka=$(cd "$b" && pwd)/musl/cmocka
    if tests/tools/cmocka_source.sh $cc ar "$cmocka"; then
        # test_locale makes a locale of glibc
        tests=$(ls tests/test_*.c | grep -vE 'test_(program|dive|plot|kit|main_job|locale)' | sed 's|^tests/||; s|[.]c$||')
        # shellcheck disable=SC2046
        with CMOCKA="-I$cmocka -L$cmocka -lcmocka" $(for t in $tests; do echo "$dir/tests/$t"; done) > "$b/compilers.log" 2>&1 || { tail -n 30 "$b/compilers.log"; exit 1; }
        for t in $tests; do "$dir/tests/$t" > "$b/compilers.log" 2>&1 || { echo "$t fails with musl:"; tail -n 20 "$b/compilers.log"; bad=1; }; done
    else echo "not run: the tests with musl, the source of cmocka cannot be had ($cmocka/log)"; fi
fi
echo "compilers: one fingerprint with${built:- none}"
exit $bad
