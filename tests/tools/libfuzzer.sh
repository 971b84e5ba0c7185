#!/bin/sh
# libfuzzer.sh CC MAKE B SECONDS: run every target of tests/fuzz under libFuzzer for SECONDS, starting from its corpus. A file that fails is
# put into B/libfuzzer/NAME, and the exit status is 1. CC must be a clang with libFuzzer's runtime.
if ! echo 'int LLVMFuzzerTestOneInput(const char *p, long n) { return !p * !n * 0; }' | $1 -x c - -fsanitize=fuzzer,address -o /dev/null 2> /dev/null; then
    echo "not run: libFuzzer, $1 has no runtime for it: make libfuzzer CC=clang"
    exit 0
fi
san=fuzzer-no-link,address,undefined
$2 CC="$1" SAN=$san fuzzers || exit
where=$($2 -s CC="$1" SAN=$san where)
failed=0
for source in tests/fuzz/fuzz_*.c; do
    name=$(basename "$source" .c)
    name=${name#fuzz_}
    mkdir -p "$3/libfuzzer/$name/found" "$3/libfuzzer/$name/new"
    if "$where/tests/fuzz/fuzz_$name" -max_total_time="$4" -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 -artifact_prefix="$3/libfuzzer/$name/found/" \
        "$3/libfuzzer/$name/new" "tests/fuzz/corpus/$name" > "$3/libfuzzer/$name/log" 2>&1
    then echo "fuzz_$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$3/libfuzzer/$name/log") files in $4 s"
    else
        tail -n 40 "$3/libfuzzer/$name/log"
        echo "fuzz_$name: FAILED; the file is in $3/libfuzzer/$name/found"
        failed=1
    fi
done
exit $failed
