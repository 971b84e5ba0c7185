#!/bin/sh
# get.sh: install what `make test-report` needs and the system lacks: Chromium, and a Python with Plotly, playwright and axe-core, whose
# path it prints. B is the folder for it, default build/.
python=${PYTHON:-python3} venv=${B:-build}/venv
. "$(dirname "$0")/../tools/scratch.sh"
claim "${B:-build}"
[ "$(id -u)" = 0 ] && sudo= || sudo=sudo
if ! command -v "${CHROMIUM:-chromium}" > /dev/null; then
    { $sudo apt-get update && $sudo apt-get install -y chromium; } >&2 || exit 1
fi
if ! "$python" -c 'import plotly, playwright, axe_playwright_python' 2> /dev/null; then
    python=$venv/bin/python
    if ! "$python" -c 'import plotly, playwright, axe_playwright_python' 2> /dev/null; then
        python3 -m venv "$venv" 2> /dev/null || { $sudo apt-get install -y python3-venv && python3 -m venv "$venv"; } >&2 || exit 1
        "$python" -m pip install -q plotly==7.1.0 playwright==1.65.2 axe-playwright-python==0.1.8 >&2 || exit 1
    fi
fi
echo "$python"
