#!/bin/sh
# run_tests.sh DIR: run DIR/float/tests/test_* and DIR/double/tests/test_*, a line for each, the output of those that fail, and
# the sum. Then every operator found in the objects must be one whose gradient a test has checked. Exit 1 if anything failed.
top=$1
log=$(mktemp -d) || exit 2
trap 'rm -rf "$log"' EXIT
passed=0 failed=0
for real in float double; do
    GRADUS_CHECKED=$log/checked.$real
    export GRADUS_CHECKED
    : > "$GRADUS_CHECKED"
    for source in tests/test_*.c; do
        name=$(basename "$source" .c)
        start=$(date +%s)
        if "$top/$real/tests/$name" > "$log/out" 2>&1; then
            verdict=ok passed=$((passed + 1))
        else
            verdict="FAILED ($?)" failed=$((failed + 1))
        fi
        printf '%-6s %-32s %4d s  %s\n' "$real" "$name" $(($(date +%s) - start)) "$verdict"
        [ "$verdict" = ok ] || cat "$log/out"
    done
    if tests/tools/check_gradients.sh "$top/$real" "$GRADUS_CHECKED"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
