#!/bin/sh
# run.sh DEMO DIVE STEPS VALUES [FOLDER]: open the report in FOLDER in a browser; default that of DEMO, the page of STEPS, and, if there is a DIVE, a
# tiny one of DIVE. VALUES prints what the library computes for the section of twelve numbers.
# PYTHON has playwright and plotly; ARGS are passed to check_report.py: --short. Exit 77 if something is missing, with a line that says how
# to get it.
demo=$1 dive=$2 steps=$3 values=$4 folder=$5 python=${PYTHON:-python3} out=${B:-build}/report
missing() { echo "not run: the report in a browser, there is no $1; $2"; exit 77; }
command -v "$python" > /dev/null || missing "$python" 'PYTHON= names one'
"$python" -c 'import playwright, plotly' 2> /dev/null ||
    missing 'playwright or plotly' "python3 -m venv venv && venv/bin/pip install plotly playwright axe-playwright-python, then PYTHON=venv/bin/python"
command -v "${CHROMIUM:-chromium}" > /dev/null || missing chromium 'apt-get install chromium, or CHROMIUM= names one'
plotly=$("$python" -c 'import os, plotly; print(os.path.dirname(plotly.__file__) + "/package_data/plotly.min.js")')
. tests/tools/scratch.sh && new_scratch && "$values" > "$scratch/twelve.json" || exit 1
if [ -z "$folder" ]; then
    remove_claimed "$out" && claim "$out" && mkdir -p "$out/demo/figures" && "$demo" "$out/demo" "$plotly" || exit 1
    "$steps" --graph all --quiet --html "$out/steps.html" > "$out/steps.txt" && "$python" tests/report/check_steps.py "$out/steps.html" || exit 1
    set -- "$out/demo"
    if [ -n "$dive" ]; then
        "$dive" --check --quiet --plotly "$plotly" --out "$out/dive" || exit 1
        set -- "$out/demo" "$out/dive"
    fi
else set -- "$folder"; fi
"$python" tests/report/validate.py "$@" || exit 1
for report; do
    # shellcheck disable=SC2086
    "$python" tests/report/check_report.py "$report" "$plotly" ${ARGS:-} || exit 1
    if grep -q '<section class="twelve"' "$report/report.html"; then
        # shellcheck disable=SC2086
        "$python" tests/report/check_twelve.py "$report" "$plotly" "$scratch/twelve.json" ${ARGS:-} || exit 1
    fi
done
