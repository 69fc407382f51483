#!/usr/bin/env bash
# From `pip install` of the wheel in an empty folder to the first iterations, and a second start with JAX's compile cache.
#
#   scripts/first_iteration.sh [PYTHON ...]     by default every python3.11 to 3.13 that starts
#
# Prints a line of seconds for each Python. CONFIG chooses the settings file, azo6 by default.
set -euo pipefail
cd "$(dirname "$0")/.."
wheels=$(mktemp -d)
trap 'rm -rf "$wheels"' EXIT
python3 -m venv "$wheels/build"
"$wheels/build/bin/pip" install --quiet hatchling
"$wheels/build/bin/python" -m hatchling build -t wheel -d "$wheels"
[ $# -gt 0 ] || set -- python3.11 python3.12 python3.13
for python in "$@"; do
  "$python" --version >/dev/null 2>&1 || { echo "$python: not found"; continue; }
  folder=$wheels/run-$(basename "$python")
  mkdir "$folder"
  (
    cd "$folder"
    export JAX_COMPILATION_CACHE_DIR=$folder/cache
    start=$SECONDS
    "$python" -m venv venv
    venv/bin/pip install --quiet "$wheels"/*.whl
    installed=$SECONDS
    for run in first second; do
      venv/bin/azo train --config "${CONFIG:-azo6}" --run.folder "$run" --run.num-iterations 1 --minutes None > "$run.log"
      grep -q "^iteration 1" "$run.log"
      declare "$run=$SECONDS"
    done
    echo "$("$python" --version): install $((installed - start)) s, first iteration $((first - installed)) s, second start $((second - first)) s"
  )
done
