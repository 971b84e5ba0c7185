#!/bin/sh
# figures.sh [digits] [accuracy] [steps] [speed]: measure what the main job promises (default all four), and exit 1 if a goal is missed.
# This takes up to an hour on two cores. accuracy and steps need MNIST in $GRADUS_DATA/mnist or data/mnist. FLAGS are added to each run.
#   digits    drawn digits, 3 seeds: LN ends at 95 % or more, and at the step where it first passes 90 %, none is at least 5 points lower
#   accuracy  MNIST, the defaults, 3 seeds: at least 98.7 % with each
#   steps     MNIST, lr 2e-3 constant: steps to 90 % of the test images, the mean of LN over 5 seeds is at most 0.6 of that of none; lr 4e-3
#             and standardized pixels are reported
#   speed     no flags and no data: under a minute, and README.md shows the last line
job="examples/seq_mnist_lstm ${FLAGS:-}" mnist=${GRADUS_DATA:-data}/mnist bad=0
log=$(mktemp) || exit 2
trap 'rm -f "$log"' EXIT
cd "$(dirname "$0")/../.." || exit 2
[ -x examples/seq_mnist_lstm ] || { echo "figures.sh: run make first"; exit 2; }

goal() { awk "BEGIN { exit !($1) }" || { echo "    missed: $1"; bad=1; }; }
accuracy_of() { sed -n 's/^test accuracy \([0-9.]*\) .*/\1/p'; }
first_90() { # the step of the first evaluation in $log at 90 % or more, or 99999
    awk -F'[:,}]' '/"kind": "eval"/ { for (i = 1; i < NF; i++) { if ($i ~ /"step"/) s = $(i + 1); if ($i ~ /"test_accuracy"/) a = $(i + 1) }
        if (a >= 90) { print s + 0; found = 1; exit } } END { if (!found) print 99999 }' "$log"
}

digits() {
    for seed in 1 2 3; do
        last=$($job --data none --quiet --seed $seed --eval-every 10 --log "$log" | accuracy_of)
        step=$(first_90)
        at=$($job --data none --quiet --seed $seed --steps "$step" | accuracy_of)
        none=$($job --data none --quiet --seed $seed --steps "$step" --norm none | accuracy_of)
        echo "digits, seed $seed: LN ends at $last %; at step $step LN has $at %, none $none %"
        goal "$last >= 95"
        goal "$at - $none >= 5"
    done
}

accuracy() {
    for seed in 1 2 3; do
        last=$($job --data "$mnist" --quiet --seed $seed | accuracy_of)
        echo "MNIST, defaults, seed $seed: $last %"
        goal "$last >= 98.7"
    done
}

mean_steps() { # mean_steps WHAT SEEDS FLAGS...: sets ratio
    what=$1 seeds=$2
    shift 2
    for norm in layer none; do
        all='' limit=250
        [ $norm = none ] && limit=450
        for seed in $(seq "$seeds"); do
            $job --data "$mnist" --quiet --seed "$seed" --schedule constant --norm $norm --eval-every 10 --steps $limit --log "$log" "$@" > /dev/null ||
                { echo "    the program failed"; bad=1; }
            all="$all $(first_90)"
        done
        mean=$(echo "$all" | awk '{ for (i = 1; i <= NF; i++) sum += $i; print sum / NF }')
        echo "MNIST, $what, $norm: 90 % after$all steps, mean $mean"
        [ $norm = layer ] && with=$mean
    done
    ratio=$(awk "BEGIN { print $with / $mean }")
    echo "    LN / none: $ratio"
}

steps() {
    mean_steps "lr 2e-3" 5 --lr 2e-3
    goal "$ratio <= 0.6"
    mean_steps "lr 4e-3" 3 --lr 4e-3
    mean_steps "lr 2e-3, standardized" 3 --lr 2e-3 --standardize
}

speed() {
    began=$(date +%s)
    last=$($job --data none 2> /dev/null | tail -n 1)
    took=$(($(date +%s) - began))
    echo "no flags, no data: $took s on $(getconf _NPROCESSORS_ONLN) cores"
    goal "$took < 60"
    [ -n "$last" ] && grep -qxF "$last" README.md || { echo "    README.md does not show its last line: $last"; bad=1; }
}

[ $# -gt 0 ] || set -- speed digits accuracy steps
for figure; do
    case $figure in
    digits | speed) $figure ;;
    accuracy | steps) if [ -d "$mnist" ]; then $figure; else echo "not run: $figure, there is no $mnist"; fi ;;
    *) echo "figures.sh: unknown: $figure"; exit 2 ;;
    esac
done
exit $bad
