#!/bin/sh
# check_vector.sh DIR: every kernel that was compiled for AVX2 or AVX-512 contains packed arithmetic in the wide registers, as does every
# other function that GR_NAME names for its instruction set. A kernel that cannot have any says so in its source, by name and with the
# reason:
#     /* scalar kernel NAME: why */
dir=$1
exempt=$(sed -n 's/.*scalar kernel \([a-z0-9_]*\): ..*/\1/p' core/*.c ops/*.c nn/*.c optim/*.c 2> /dev/null | tr '\n' ' ')
found=$(mktemp) || exit 2
trap 'rm -f "$found"' EXIT
for o in $(find "$dir/core" "$dir/ops" "$dir/nn" "$dir/optim" -name '*.avx2.o' -o -name '*.avx512.o'); do
    case $o in
    *ops/pool.avx512.o) isa=avx512 wide='[yz]mm' ;; # the Makefile says why its vectors may have 32 bytes
    *.avx512.o) isa=avx512 wide=zmm ;;
    *) isa=avx2 wide=ymm ;;
    esac
    objdump -d --no-show-raw-insn "$o" | awk -v isa=$isa -v wide=$wide '
        function close_kernel() { if (name != "") print name, isa, packed + 0 }
        /^[0-9a-f]+ <.*>:$/ {
            close_kernel(); packed = 0; name = $2
            gsub(/[<>:]/, "", name)
            if (name !~ "_" isa "$") name = ""
            sub(/^gr__/, "", name); sub("_" isa "$", "", name)
        }
        $0 ~ wide && /\tv(f?n?m(add|sub|addsub|subadd)[0-9]*|add|sub|mul|div|sqrt|max|min|cmp[a-z_]*|blend[a-z]*|and|andn)p[sd] / { packed++ }
        $0 ~ wide && /\tvp(add|sub|mul|min|max|cmp|and|or|sll|srl|sra|blend)[a-z]* / { packed++ }
        $0 ~ wide && /\tv(xorp[sd]|pxor[dq]?) / { split($NF, arg, ","); if (arg[1] != arg[2]) packed++ } # the same twice: zero
        END { close_kernel() }'
done > "$found"
awk -v exempt="$exempt" '
    BEGIN { n = split(exempt, e, " "); for (i = 1; i <= n; i++) is_exempt[e[i]] = 1 }
    { seen[$1] = 1; kernels++ }
    $3 == 0 && !($1 in is_exempt) { printf "%s is not vectorised for %s\n", $1, $2; bad = 1 }
    END {
        for (name in is_exempt) if (!(name in seen)) { printf "a comment exempts %s, but there is no such kernel\n", name; bad = 1 }
        printf "check-vector: %d kernels, %d exempt by name\n", kernels, n
        exit bad
    }' "$found"
