#!/bin/sh
# check_fetch.sh: run examples/fetch_mnist.sh against mirrors that are folders. After a wrong, truncated or missing file, nothing may exist
# under the real name. The last case needs $GRADUS_DATA/mnist or data/mnist. Exit 1 if a check fails.
here=$(cd "$(dirname "$0")/../.." && pwd)
. "$here/tests/tools/scratch.sh"
new_scratch
work=$scratch
failed=0
check() { if eval "$2"; then :; else echo "check_fetch.sh: $1"; failed=1; fi; }
run() { MNIST_MIRRORS=$1 sh "$here/examples/fetch_mnist.sh" "$work/out dir" > "$work/log" 2>&1; }

have() { command -v "$1" > /dev/null 2>&1; }
have curl || { echo "not run: fetching MNIST, there is no curl"; exit 0; } # wget knows no file://
mkdir "$work/wrong" "$work/empty"
for f in train-images-idx3 train-labels-idx1 t10k-images-idx3 t10k-labels-idx1; do echo no > "$work/wrong/$f-ubyte.gz"; done

run "file://$work/empty"; code=$?
check "a missing file must exit 1" '[ $code = 1 ]'
run "file://$work/empty file://$work/wrong"; code=$?
check "a wrong file must exit 1" '[ $code = 1 ]'
check "a wrong file is left behind" '[ -z "$(ls "$work/out dir")" ]'
check "the message does not name the file" 'grep -q "no mirror gave a right train-images-idx3-ubyte.gz" "$work/log"'

data=${GRADUS_DATA:-$here/data}/mnist
if [ -f "$data/train-images-idx3-ubyte.gz" ]; then
    mkdir "$work/good" && cp "$data"/*.gz "$work/good" && chmod u+w "$work/good"/*
    head -c 1000000 "$work/good/train-images-idx3-ubyte.gz" > "$work/out dir/train-images-idx3-ubyte.gz.part"
    run "file://$work/wrong file://$work/good"; code=$?
    check "four right files must exit 0: $(cat "$work/log")" '[ $code = 0 ]'
    check "there must be four files and nothing else" '[ "$(ls "$work/out dir" | wc -l)" -eq 4 ]'
    check "the content differs" 'cmp -s "$work/good/t10k-images-idx3-ubyte.gz" "$work/out dir/t10k-images-idx3-ubyte.gz"'
    run "file://$work/empty"; code=$?
    check "what is there is fetched again" '[ $code = 0 ]'
else
    echo "not run: fetching the real MNIST, there is no $data"
fi
[ $failed = 0 ] && echo "check_fetch.sh: ok"
exit $failed
