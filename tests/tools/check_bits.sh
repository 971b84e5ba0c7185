#!/bin/sh
# check_bits.sh DIR [RUN]: the programs in DIR give the fingerprints of tests/golden/fingerprint for every instruction set of this processor
# and for 1, 2 and 4 threads. RUN starts the programs, for example qemu-aarch64 or wine; then only the small program runs.
dir=$1 run=$2 bad=0 runs=0
small=$dir/tests/bits/fingerprint
[ ! -f "$small.exe" ] || small=$small.exe
want_small=$(awk '$1 == "small" { print $2 }' tests/golden/fingerprint)
want_main=$(awk '$1 == "main" { print $2 }' tests/golden/fingerprint)

expect() { # expect WHAT WANTED GOT
    runs=$((runs + 1))
    [ "$2" = "$3" ] || { echo "$1: the fingerprint is ${3:-missing} and should be $2"; bad=1; }
}

for isa in scalar avx2 avx512 neon; do
    refused=$(GRADUS_ISA=$isa $run "$small" 2>&1 > /dev/null)
    case $refused in *"'$isa'"*) absent="$absent $isa"; continue ;; esac
    for threads in 1 2 4; do
        expect "small, $isa, $threads threads" "$want_small" "$(GRADUS_ISA=$isa $run "$small" $threads | tr -d '\r')"
        [ $isa = scalar ] || [ -n "$run" ] || expect "main job, $isa, $threads threads" "$want_main" \
            "$(GRADUS_ISA=$isa "$dir/examples/seq_mnist_lstm" --data none --steps 50 --threads $threads --quiet | sed 's/.*fingerprint //')"
    done
done
[ $runs -gt 0 ] || { echo "check-bits: no program could be run"; exit 1; }
[ $bad = 0 ] && echo "check-bits: $runs runs, one fingerprint; not run for lack of the instruction set:${absent:- none}"
exit $bad
