#!/usr/bin/env bash
# Compiles azo's programs for accelerators that are not there, and writes what came out into a page.
#
#   scripts/accelerators.sh [TARGET...]    by default h100 h100x8 v5e v5ex4; benchmarks.accelerators
#                                          lists all
#
# XLA's compilers for CUDA and for TPUs exclude each other, so each has an environment, .venv-cuda and
# .venv-tpu. They are made once, from requirements.lock and 0.5 GB more. Results go to
# runs/accelerators, a file for each program; a target whose files are there is compiled again.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
folder=runs/accelerators

environment() {  # NAME PACKAGE...: makes an environment with JAX for one kind of accelerator
  local name=$1
  shift
  [ ! -e ".venv-$name/.ready" ] || return 0
  echo "installs XLA's compiler for $name into .venv-$name"
  "$python" -m venv ".venv-$name"
  ".venv-$name/bin/python" -m pip install --quiet --disable-pip-version-check uv
  ".venv-$name/bin/uv" pip install --quiet --python ".venv-$name/bin/python" -r requirements.lock
  ".venv-$name/bin/uv" pip install --quiet --python ".venv-$name/bin/python" "$@"
  touch ".venv-$name/.ready"
}

version=$(sed -n 's/^jax==\([0-9.]*\).*/\1/p' requirements.lock)
[ $# -gt 0 ] || set -- h100 h100x8 v5e v5ex4
for target in "$@"; do
  case $target in
    h100*)
      environment cuda --no-deps "jax-cuda12-plugin==$version" "jax-cuda12-pjrt==$version" \
        nvidia-cuda-nvcc-cu12
      name=cuda ;;
    *)
      environment tpu "jax[tpu]==$version"
      name=tpu ;;
  esac
  PYTHONPATH=$PWD ".venv-$name/bin/python" -m benchmarks.accelerators "$target" --out "$folder"
done
PYTHONPATH=$PWD ".venv-$name/bin/python" -m benchmarks.accelerators --out "$folder" --page docs/devices.md
