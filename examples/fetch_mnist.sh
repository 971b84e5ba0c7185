#!/bin/sh
# fetch_mnist.sh [DIR]: fetch the four files of MNIST (LeCun, Cortes, Burges; CC BY-SA 3.0; 11 MB) into DIR, data/mnist if not given.
# Each file is tried at every mirror until its content has the right SHA-256. Only a file that has it gets its name; a fetch that was cut
# off goes on where it stopped. Files that are there already, and right, are not fetched again. MNIST_MIRRORS replaces the list of mirrors.
# Exit 0 when all four are there, 1 when not, 2 when a program is missing.
dir=${1:-data/mnist}
mirrors=${MNIST_MIRRORS:-https://ossci-datasets.s3.amazonaws.com/mnist https://storage.googleapis.com/cvdf-datasets/mnist}

fail() { echo "fetch_mnist.sh: $2" >&2; exit "$1"; }
have() { command -v "$1" > /dev/null 2>&1; }

have gzip || fail 2 "gzip is missing"
if have sha256sum; then sum() { sha256sum; }
elif have shasum; then sum() { shasum -a 256; }
elif have openssl; then sum() { openssl dgst -sha256 -r; }
else fail 2 "sha256sum, shasum or openssl is needed"
fi
if have curl; then fetch() { curl -fsSL --connect-timeout 20 --retry 2 -C - -o "$2" "$1"; }
elif have wget; then fetch() { wget -q -T 20 -t 2 -c -O "$2" "$1"; }
else fail 2 "curl or wget is needed"
fi

# Packers differ, so the sums are those of the unpacked files.
right() { [ -f "$1" ] && [ "$(gzip -dc < "$1" 2> /dev/null | sum | cut -c1-64)" = "$2" ]; }

get() {
    right "$dir/$1" "$2" && { echo "$dir/$1: there"; return; }
    part=$dir/$1.part
    for start in "where it stopped" afresh; do
        [ "$start" = afresh ] && rm -f "$part"
        for mirror in $mirrors; do
            echo "$mirror/$1"
            fetch "$mirror/$1" "$part" && whole=yes || whole=no
            right "$part" "$2" && mv "$part" "$dir/$1" && return
            [ $whole = yes ] && echo "  is another file" && rm -f "$part"
        done
    done
    fail 1 "no mirror gave a right $1; try again, or put the four files into $dir"
}

mkdir -p "$dir" || fail 1 "cannot make $dir"
get train-images-idx3-ubyte.gz ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db
get train-labels-idx1-ubyte.gz 65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5
get t10k-images-idx3-ubyte.gz 0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7
get t10k-labels-idx1-ubyte.gz ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2
