#!/bin/sh
# have_cmocka.sh CC FLAGS: exit 0 if a program can be built with cmocka; else print how to get it and exit 2.
. "$(dirname "$0")/scratch.sh"
new_scratch
dir=$scratch
cat > "$dir/a.c" <<'END'
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
int main(void) { assert_true(1); return 0; }
END
# shellcheck disable=SC2086
$1 "$dir/a.c" -o "$dir/a" $2 2> /dev/null && exit 0
echo "The tests need the library cmocka, which is not installed: sh tests/tools/get_cmocka.sh" >&2
exit 2
