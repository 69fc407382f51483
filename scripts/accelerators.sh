#!/usr/bin/env bash
# Compiles azo's programs for accelerators that are not there, and writes what came out into a page.
#
#   scripts/accelerators.sh [TARGET...]      by default h100 h100x8 h100x16 v5e v5ex8 v5ex16 v6e, the
#                                            two with 16 devices on several hosts
#   scripts/accelerators.sh check [--store]  small programs, which must not have grown: CI runs this;
#                                            --store renews benchmarks/accelerators/check.json
#
# XLA's compilers for CUDA and for TPUs exclude each other, so each has an environment, .venv-cuda and
# .venv-tpu. They are made once, from requirements.lock and 0.5 GB more. Results go to
# runs/accelerators, a file for each program; a target whose files are there is compiled again.
#
# The check is skipped, in one line, only if nothing can be downloaded: the first package, uv, cannot
# be installed. Any later failure of the installation fails the check.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
folder=runs/accelerators
version=$(sed -n 's/^jax==\([0-9.]*\).*/\1/p' requirements.lock)
unreachable=69

environment() {  # NAME PACKAGE...: makes an environment with JAX for one kind of accelerator
  local name=$1
  shift
  [ ! -e ".venv-$name/.ready" ] || return 0
  echo "installs XLA's compiler for $name into .venv-$name"
  "$python" -m venv ".venv-$name" || return
  local pip=(".venv-$name/bin/uv" pip install --quiet --python ".venv-$name/bin/python")
  ".venv-$name/bin/python" -m pip install --quiet --disable-pip-version-check uv || return $unreachable
  "${pip[@]}" -r requirements.lock && "${pip[@]}" "$@" && touch ".venv-$name/.ready"
}

cuda() {
  environment cuda --no-deps "jax-cuda12-plugin==$version" "jax-cuda12-pjrt==$version" \
    nvidia-cuda-nvcc-cu12
}

tpu() {
  environment tpu "jax[tpu]==$version"
}

# Both targets at once, with the same file of figures, so they are stored one after the other.
check() {
  local status=0 h100 v5e
  cuda && tpu || status=$?
  if [ $status = $unreachable ]; then
    echo "check of accelerators SKIPPED: their compilers cannot be downloaded" >&2
    return 0
  fi
  [ $status = 0 ] || return $status
  export PYTHONPATH=$PWD
  if [ $# -gt 0 ]; then
    .venv-cuda/bin/python -m benchmarks.accelerators.check h100 "$@"
    .venv-tpu/bin/python -m benchmarks.accelerators.check v5e "$@"
    return
  fi
  .venv-cuda/bin/python -m benchmarks.accelerators.check h100 & h100=$!
  .venv-tpu/bin/python -m benchmarks.accelerators.check v5e & v5e=$!
  wait $h100 || status=$?
  wait $v5e || status=$?
  return $status
}

if [ "${1:-}" = check ]; then
  shift
  check "$@"
  exit
fi
[ $# -gt 0 ] || set -- h100 h100x8 h100x16 v5e v5ex8 v5ex16 v6e
for target in "$@"; do
  case $target in
    h100*) name=cuda ;;
    *) name=tpu ;;
  esac
  $name
  PYTHONPATH=$PWD ".venv-$name/bin/python" -m benchmarks.accelerators "$target" --out "$folder"
done
PYTHONPATH=$PWD ".venv-$name/bin/python" -m benchmarks.accelerators --out "$folder" --page docs/devices.md
