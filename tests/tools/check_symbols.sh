#!/bin/sh
# check_symbols.sh DIR: what the library's objects in DIR may contain and call. The library never prints by itself, exits or aborts; it has
# no mutable data; in float it takes only sqrt and fma from libm; its names begin with gr_; no two operators have one name.
objects=$(find "$1/core" "$1/ops" "$1/nn" "$1/optim" -name '*.o' 2> /dev/null)
[ -n "$objects" ] || { echo "no objects in $1: run make first"; exit 1; }
bad=0

forbidden='abort|exit|_exit|_Exit|quick_exit|pthread_exit|__assert_fail|raise|kill|signal|v?printf|__v?printf_chk|v?dprintf|__v?dprintf_chk'
forbidden="$forbidden|puts|putchar|perror|v?warnx?|v?errx?|v?syslog|system|popen|stdout|stderr"
to_a_file='v?fprintf|__v?fprintf_chk|fputs|fputc|putc'
libm='a?(sin|cos|tan)h?|sincos|atan2|exp|exp2|exp10|expm1|log|log2|log10|log1p|logb|ilogb|pow|cbrt|hypot|erf|erfc|tgamma|lgamma'
libm="$libm|ceil|floor|trunc|l?l?round|l?l?rint|nearbyint|fmod|modf|remainder|remquo|ldexp|scalbl?n|frexp|fmin|fmax|fdim|nextafter|nexttoward"
for o in $objects; do
    nm "$o" | awk -v o="$o" -v real="${1##*/}" -v forbidden="^($forbidden)$" -v to_a_file="^($to_a_file)$" -v libm="^($libm)[fl]?$|^_ZGV" '
        function complain(what) { printf "%s: %s\n", o, what; found = 1 }
        NF == 2 && $1 == "U" && $2 ~ forbidden { complain("uses " $2) }
        NF == 2 && $1 == "U" && $2 ~ to_a_file && o !~ /\/(print|inspect|gradcheck)\.o$/ { complain("uses " $2 ", which is for print.c, inspect.c and gradcheck.c") }
        NF == 2 && $1 == "U" && $2 ~ libm && real == "float" { complain("takes " $2 " from libm") }
        NF == 3 && $2 ~ /^[A-TV-Z]$/ && $3 !~ /^gr_/ { complain("the name " $3 " does not begin with gr_") }
        END { exit found }' || bad=1
    size -A "$o" | awk -v o="$o" '
        $1 ~ /^\.t?(data|bss)(\.|$)/ && $1 !~ /^\.data\.rel\.ro/ && $2 > 0 { printf "%s: mutable data in %s\n", o, $1; found = 1 }
        END { exit found }' || bad=1
done

nm -D --defined-only "$1"/libgradus*.so.* | awk '
    $3 !~ /^gr_[a-z0-9]/ { printf "the shared library exports %s\n", $3; found = 1 }
    END { if (!NR) print "the shared library exports nothing"; exit found || !NR }' || bad=1

# shellcheck disable=SC2086
nm $objects | awk '$2 ~ /^[dDrRbB]$/ && $3 ~ /_op$/ { if (seen[$3]++) { printf "two operators are called %s\n", $3; found = 1 } }
    END { exit found }' || bad=1
exit $bad
