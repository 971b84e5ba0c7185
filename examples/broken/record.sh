#!/bin/sh
# record.sh: write what each program prints, with each of its flags, to answers/NAME.txt. Call it at the root of the tree, after make broken (in float).
# tests/test_program_broken.c compares.
for right in examples/broken/answers/*.c; do
    name=$(basename "$right" .c)
    for flags in '' ' --find' ' --fixed' ' --fixed --find'; do
        echo "\$ $name$flags"
        examples/broken/"$name" $flags || exit 1
    done > "examples/broken/answers/$name.txt"
done
