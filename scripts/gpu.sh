#!/usr/bin/env bash
# The first quarter of an hour on one GPU, in four steps: check, train, bench, profile.
#
#   scripts/gpu.sh STEP [FOLDER]     results go to FOLDER, by default runs/gpu
#
# Each step has a time limit, writes its results as it goes, and continues where it stopped when it is
# started again: what is done is skipped, and training resumes. Exit codes: 0 done, 124 the time limit
# was reached, others an error. A step uses the packages in FOLDER/site, which `check` installs from
# wheels without network (scripts/gpu-requirements.txt), besides those of PYTHON.
#
#   check    2 minutes     install, versions, device, `pytest -m gpu`       FOLDER/check
#   train    6 minutes     configs/azo8-gpu.toml, exported at the end       FOLDER/run, FOLDER/export
#   bench    4.5 minutes   the tables of benchmarks.all --preset gpu        FOLDER/bench
#   profile  1 minute      one trace of self-play, its largest kernels      FOLDER/profile
#   all      13.5 minutes  these in turn; nothing follows a check that failed
#
# Environment variables:
#   PYTHON      interpreter that has JAX for CUDA, by default python3
#   WHEELS      folder of wheels, by default wheels; no folder: nothing is installed
#   LIMIT       seconds for this step, in place of those above
#   MINUTES     length of the training run, over which the learning rate falls; by default 5
#   SIZE        small: sizes for a trial on a CPU, in minutes
set -euo pipefail

usage() { sed -n '2,/^set/p' "$0" | sed '$d; s/^# \{0,1\}//' >&2; exit 2; }
step=${1:-}
folder=$(realpath -m "${2:-runs/gpu}")
wheels=$(realpath -m "${WHEELS:-wheels}")
python=${PYTHON:-python3}
minutes=${MINUTES:-5}
size=${SIZE:-real}
cd "$(dirname "$0")/.."

declare -A limits=([check]=120 [train]=360 [bench]=270 [profile]=60 [all]=810)
[ -n "${limits[$step]:-}" ] || usage
limit=${LIMIT:-${limits[$step]}}
started=$SECONDS
results=$folder/$step
mkdir -p "$results"

export PYTHONPATH=$folder/site:$PWD PYTHONUNBUFFERED=1
export JAX_COMPILATION_CACHE_DIR=${JAX_COMPILATION_CACHE_DIR:-$folder/cache}
if [ "$size" = small ]; then
  export JAX_PLATFORMS=${JAX_PLATFORMS:-cpu}
else
  export JAX_PLATFORMS=${JAX_PLATFORMS:-cuda,cpu}
fi

# once NAME COMMAND...: runs a command within what is left of the step's time, unless it is done.
# Its output goes to NAME.log as it comes, and the seconds it took to times.txt.
once() {
  local name=$1 code=0 begin=$SECONDS left=$((limit - (SECONDS - started)))
  shift
  if [ -e "$results/$name.done" ]; then
    echo "$step $name: done before"
    return
  fi
  if [ "$left" -le 0 ]; then
    echo "$step $name: no time is left" >&2
    exit 124
  fi
  echo "$step $name: at most $left s"
  timeout --kill-after=20 "$left" "$@" 2>&1 | tee -a "$results/$name.log" || code=$?
  echo "$step $name: $((SECONDS - begin)) s, exit code $code" | tee -a "$folder/times.txt"
  [ "$code" = 0 ] || exit "$code"
  touch "$results/$name.done"
}

check() {
  if [ -d "$wheels" ]; then
    once install "$python" -m pip install --quiet --no-index --no-deps --upgrade \
      --target "$folder/site" "$wheels"/*.whl
  fi
  command -v nvidia-smi >/dev/null && once device nvidia-smi
  once versions "$python" -c '
import jax, azo.cli.train, benchmarks.measure as measure
print(*measure.header(("jax", "jaxlib", "flax", "numpy", "mctx", "pgx", "numba")), sep="\n")
print(jax.devices())'
  # pytest makes warnings errors; those of packages that are newer than tested do not matter here.
  once tests "$python" -m pytest -q -m gpu -W default -p no:cacheprovider tests/test_gpu.py
}

bench() {
  local preset=gpu
  [ "$size" = small ] && preset=tiny
  [ -e "$results/README.md" ] ||
    printf '<!-- %s: begin -->\n<!-- %s: end -->\n' $preset $preset >"$results/README.md"
  once tables "$python" -m benchmarks.all --preset "$preset" --folder "$results" \
    --readme "$results/README.md" --limit-minutes 60 # `once` has the limit
}

profile() {
  local sizes=()
  [ "$size" = small ] && sizes=(--network 1x8 --batch 16 --simulations 4)
  # Without CUDA graphs, so that each kernel has a name.
  XLA_FLAGS="${XLA_FLAGS:-} --xla_gpu_enable_command_buffer=" once selfplay \
    "$python" -m benchmarks.profiling --folder "$results" "${sizes[@]}"
}

train() {
  local sizes=() code=0 left
  [ "$size" = small ] && sizes=(
    --network.num-blocks 1 --network.num-channels 8 --selfplay.num-games 16
    --selfplay.num-plies 4 --search.num-simulations 4 --replay.capacity 8000
    --replay.min-positions 64 --learner.batch-size 32 --learner.num-steps 2
    --ratings.num-games 4 --ratings.num-simulations 2
  )
  left=$((limit - 60)) # the rest is for saving and exporting
  (
    limit=$left
    once run "$python" -m azo train --config azo8-gpu --run.folder "$folder/run" \
      --minutes "$minutes" --run.save-every 10 "${sizes[@]}"
  ) || code=$?
  [ "$code" = 0 ] || [ "$code" = 124 ] || exit "$code"
  rm -rf "$folder/export" "$results/export.done"
  once export "$python" -m azo export "$folder/run" "$folder/export" --latest --portable
  exit "$code"
}

all() {
  local each left code=0
  for each in check train bench profile; do
    left=$((limit - (SECONDS - started)))
    [ "$left" -gt 0 ] || exit 124
    LIMIT=$((left < limits[$each] ? left : limits[$each])) scripts/gpu.sh "$each" "$folder" || code=$?
    [ "$code" = 0 ] || [ "$each" != check ] || break
  done
  exit "$code"
}

$step
