#!/bin/sh
# run_tests.sh [--gradients] DIR TEST...: run DIR/REAL/tests/TEST for each TEST and each REAL of REALS, float and double if it is not set, as many at
# a time as there are processors. Print a line for each, the output of those that fail, what was not run, and the number of passed and failed tests.
# With --gradients one of these tests must have checked the gradient of every operator in the objects. Exit 1 if anything failed.
REALS=${REALS:-float double}
if [ "$1" = --one ]; then # --one LOG DIR REAL NAME
    log=$2/$4.$5
    start=$(date +%s)
    GRADUS_CHECKED=$2/checked.$4.$5 "$3/$4/tests/$5" > "$log" 2>&1
    code=$?
    if [ $code = 0 ]; then verdict=ok; else verdict="FAILED ($code)"; fi
    echo "$verdict" > "$log.verdict"
    printf '%-6s %-32s %4d s  %s\n' "$4" "$5" $(($(date +%s) - start)) "$verdict"
    [ $code = 0 ] || cat "$log"
    exit 0
fi

gradients=0
[ "$1" = --gradients ] && gradients=1 && shift
dir=$1
shift
export ASAN_OPTIONS="allocator_may_return_null=1:$ASAN_OPTIONS" # tests ask for more memory than there is
. "$(dirname "$0")/scratch.sh"
new_scratch
log=$scratch
for real in $REALS; do
    for name; do echo "$real $name"; done
done > "$log/tests"
xargs -n 2 -P "$(getconf _NPROCESSORS_ONLN 2> /dev/null || echo 1)" "$0" --one "$log" "$dir" < "$log/tests"
[ $gradients = 0 ] || for real in $REALS; do
    tests/tools/check_gradients.sh "$dir/$real" "$log/checked.$real".* > "$log/$real.gradients"
    [ $? = 0 ] && echo ok > "$log/$real.gradients.verdict"
    cat "$log/$real.gradients"
done

grep -h '^not run: ' "$log"/* 2> /dev/null | sort -u
expected=$(($(wc -l < "$log/tests") + gradients * $(echo "$REALS" | wc -w)))
passed=$(grep -l '^ok$' "$log"/*.verdict 2> /dev/null | wc -l)
echo $passed "passed, $((expected - passed)) failed"
[ "$expected" -gt 0 ] && [ "$passed" -eq "$expected" ]
