#!/bin/sh
# msan.sh CC MAKE: run the tests of the library under MemorySanitizer, in float. CC must be a clang with its runtime. The tests of the
# examples do not run, because their calls of stdio and their child processes say nothing about the library.
if ! echo 'int main(void) { return 0; }' | $1 -x c - -fsanitize=memory -o /dev/null 2> /dev/null; then
    echo "not run: MemorySanitizer, $1 has no runtime for it: make msan CC=clang"
    exit 0
fi
export MSAN_OPTIONS="allocator_may_return_null=1:$MSAN_OPTIONS" # tests ask for more memory than there is
names=$(cd tests && ls test_*.c | grep -v -e '^test_kit_' -e '^test_plot_' -e '^test_dive_' -e '^test_program_' -e '^test_main_job' | sed 's/[.]c$//')
where=$($2 -s CC="$1" SAN=memory where)
# The lanes of a vector behind the end of an array may hold anything, and are not stored. GR_FMA: fmaf computes them. Without the instruction,
# r_fma would branch on them, which is a report.
$2 CC="$1" SAN=memory CFLAGS='-g -DGR_FMA' $(for name in $names; do echo "$where/tests/$name"; done) || exit
. "$(dirname "$0")/scratch.sh"
new_scratch
log=$scratch
for name in $names; do echo "$name"; done | WHERE="$where/tests" LOG="$log" xargs -P "$(getconf _NPROCESSORS_ONLN 2> /dev/null || echo 1)" -I NAME sh -c \
    '"$WHERE/NAME" > "$LOG/NAME" 2>&1 && mv "$LOG/NAME" "$LOG/NAME.ok" || { echo NAME:; tail -n 40 "$LOG/NAME"; }'
passed=$(ls "$log" | grep -c '[.]ok$')
tests=$(cat "$log"/* | sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' | awk '{ sum += $1 } END { print sum + 0 }')
all=$(echo "$names" | wc -l)
echo "MemorySanitizer: $passed of $all test programs are silent, $tests tests"
[ "$passed" = "$all" ]
