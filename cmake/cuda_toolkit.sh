#!/bin/sh
# Makes a CUDA toolkit with cuDNN from Python's packages, for machines that have none, and prints its folder. It takes
# half a minute and 1.8 GB. The folder lies in the user's cache, outside the tree; cmake/cuda.cmake finds it there.
#   cmake/cuda_toolkit.sh           makes it unless it is there; exits 1 where it cannot
#   cmake/cuda_toolkit.sh --where   prints the folder if it is there
# The same environment takes PyTorch 2.15: these are the versions that its wheel asks for.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=cmake/steps.sh
. "$root/cmake/steps.sh"

cuda=13.2.86
packages="nvidia-cuda-nvcc==$cuda nvidia-cuda-crt==$cuda nvidia-nvvm==$cuda nvidia-cuda-cccl==$cuda
  nvidia-cuda-runtime==$cuda nvidia-cuda-nvrtc==$cuda nvidia-cublas==13.4.1.3 nvidia-cudnn-cu13==9.26.0.51"
environment=${XDG_CACHE_HOME:-${HOME:?}/.cache}/spillway/cuda-$cuda
toolkit=$environment/toolkit  # a link, made last

# A Python that can make virtual environments: the one on the PATH, or Debian's.
find_python() {
  for python in python3 /usr/bin/python3; do
    if "$python" -c 'import ensurepip, venv' 2>/dev/null; then return; fi
  done
  return 1
}

# Packages lay out a toolkit almost as NVIDIA's installer does. Compilers also look for lib64, for names without a
# version, and for cuDNN beside the rest.
complete() {
  cudnn=$(dirname "$1")/cudnn
  ln -sfn lib "$1/lib64"
  ln -sf "$cudnn"/include/*.h "$1/include"
  ln -sf "$cudnn"/lib/*.so.* "$1/lib"
  for library in "$1"/lib/lib*.so.*; do
    ln -sf "$(basename "$library")" "${library%%.so.*}.so"
  done
}

make_toolkit() {
  find_python || { (need python3-venv) && find_python; } || return 1
  rm -rf "$environment"
  mkdir -p "$environment"
  say "making a CUDA toolkit in $environment"
  # shellcheck disable=SC2086  # one word per package
  "$python" -m venv "$environment" && "$environment/bin/pip" install --quiet --disable-pip-version-check \
    --no-cache-dir --only-binary :all: --retries 1 --timeout 20 $packages >&2 || return 1
  made=$("$environment/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/nvidia/cu13
  complete "$made" && "$made/bin/nvcc" --version >/dev/null && ln -s "$made" "$toolkit"
}

if [ "${1:-}" != --where ] && [ ! -e "$toolkit" ] && ! make_toolkit; then
  say "no CUDA toolkit could be made in $environment"
  exit 1
fi
if [ -e "$toolkit" ]; then printf '%s\n' "$toolkit"; fi
