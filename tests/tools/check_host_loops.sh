#!/bin/sh
# check_host_loops.sh LIST: no function outside of kernels has a loop over reals, because host code is compiled for the baseline instruction set
# alone. Compiles core, ops, nn and optim without inlining, and looks for loops without calls that load, store or compute single floats. LIST
# has the functions that may: a line is FILE FUNCTION: why. A line whose function has no such loop any more is an error, too.
list=$1
. "$(dirname "$0")/scratch.sh"
new_scratch
case $(${CC:-cc} -dumpmachine) in x86_64*) ;; *) echo "check-host-loops: not run, the compiler is not for x86-64"; exit 0 ;; esac
for f in core/*.c core/io/*.c ops/*.c nn/*.c optim/*.c; do
    # shellcheck disable=SC2086
    ${CC:-cc} -std=c11 -D_GNU_SOURCE -O1 -fno-inline -fno-reorder-blocks -ffp-contract=off -fno-asynchronous-unwind-tables -w -I. -S "$f" -o "$scratch/s" || exit 1
    awk -v file="$f" '
        function close_function(   k, from, j, hot) {
            for (k = 1; k <= n; k++) {
                if (!(target[k] in label)) continue
                from = label[target[k]]; hot = 0
                for (j = from; j < k; j++) {
                    hot += real[j]
                    if (call[j] || (target[j] in label && label[target[j]] >= from && label[target[j]] <= j)) { hot = 0; break }
                }
                if (hot) { print file, name; break }
            }
            n = 0; delete label; delete target; delete real; delete call
        }
        /^[A-Za-z_][A-Za-z0-9_.]*:/ { close_function(); name = $1; sub(/[.:].*/, "", name); kernel = name ~ /_scalar$/; next }
        /^\.L[A-Za-z0-9]*:/ { sub(":", "", $1); label[$1] = n + 1; next }
        kernel || /^\t\./ { next }
        { n++; real[n] = $1 ~ /^(movss|(add|sub|mul|div|min|max|sqrt)s[sd]|u?comis[sd]|cvtss2sd|cvtsd2ss)$/ && /\(/; call[n] = $1 ~ /^call/
          target[n] = $1 ~ /^j/ ? $2 : "" }
        END { close_function() }' "$scratch/s"
done | sort -u > "$scratch/found"
sed -n 's/^\([a-z_/0-9]*\.c [A-Za-z0-9_]*\): .*/\1/p' "$list" | sort -u > "$scratch/known"
comm -23 "$scratch/found" "$scratch/known" | sed 's/$/ has a loop over reals outside of a kernel/' > "$scratch/bad"
comm -13 "$scratch/found" "$scratch/known" | sed "s|\$| has no loop over reals: remove it from $list|" >> "$scratch/bad"
cat "$scratch/bad"
echo "check-host-loops: $(wc -l < "$scratch/found") functions outside of kernels loop over reals"
[ ! -s "$scratch/bad" ]
