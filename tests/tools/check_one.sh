#!/bin/sh
# check_one.sh CC DIR ONE: ONE/gradus.c compiles alone and without warnings, in float and in double. The tests that call assert_bits_stay
# (but not those of programs) pass with it and see the bits of the normal build in DIR. The programs of check_bits.sh give the same
# fingerprints.
cc=$1 built=$2 one=$3 bad=0
parts() { for part in plot norms kit composed; do echo "$built/$1/lib$part.a"; done; }
precision() { # precision float|double
    real=$1 bits=$one/$1.bits log=$one/$1/log flags='-std=c11 -O2 -Wall -Wextra -Werror'
    [ "$real" = double ] && flags="$flags -DGR_REAL_DOUBLE"
    mkdir -p "$one/$real" && $cc $flags -c "$one/gradus.c" -o "$one/$real.o" || return 1
    rm -f "$bits" "$bits.normal"
    flags=$(pkg-config --libs cmocka 2> /dev/null || echo -lcmocka)
    for source in $(grep -l assert_bits_stay tests/test_*.c | grep -v test_program_); do
        name=$(basename "$source" .c)
        $cc "$built/$real/tests/$name.o" $(parts "$real") "$built/$real/libtests.a" "$one/$real.o" -o "$one/$real/$name" $flags -lm -pthread || return 1
        GRADUS_BITS=$bits.normal "$built/$real/tests/$name" > "$log" 2>&1 || { cat "$log"; bad=1; }
        GRADUS_BITS=$bits "$one/$real/$name" > "$log" 2>&1 || { echo "with the one-file build:"; cat "$log"; bad=1; }
    done
    [ -s "$bits" ] || { echo "no test has called assert_bits_stay"; return 1; }
    diff "$bits.normal" "$bits" || { echo "the one-file build gives other bits in $real"; bad=1; }
    return $bad
}
precision float & float=$!
precision double & double=$!
wait $float || bad=1
wait $double || bad=1
[ $bad = 0 ] || exit 1
mkdir -p "$one/tests/bits" "$one/examples"
for program in tests/bits/fingerprint examples/seq_mnist_lstm; do
    $cc "$built/float/$program.o" $(parts float) "$one/float.o" -o "$one/$program" -lm -pthread || exit 1
done
tests/tools/check_bits.sh "$one" || bad=1
[ $bad = 0 ] && echo "check-one: compiles alone, $(sort -u "$one/float.bits" | wc -l) results with the bits of the normal build"
exit $bad
