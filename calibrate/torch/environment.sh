#!/bin/sh
# Makes a Python environment with the PyTorch that the recorder is tested on, and prints its folder. It takes two
# minutes and 5.4 GB: the wheels hold CUDA, and run on the CPU. The folder lies in the user's cache, outside the tree.
#   calibrate/torch/environment.sh           makes it unless it is there; exits 1 where it cannot
#   calibrate/torch/environment.sh --zoo     with the packages of the networks that the deep tier records as well
#   calibrate/torch/environment.sh --loops   with those and the frameworks whose training loops the deep tier runs
#   calibrate/torch/environment.sh --where   prints the folder if it is there
# SPILLWAY_TORCH_ENVIRONMENT: another folder, which an environment is in or will be.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=cmake/steps.sh
. "$root/cmake/steps.sh"

torch=2.15.0
zoo="torchvision==0.29.2 timm==1.0.22 monai==1.6.1 transformers==5.24.0 segmentation-models-pytorch==0.6.0
  dynamic-network-architectures==0.4.4 diffusers==0.42.1"
loops="lightning==2.6.6 accelerate==1.15.0 pytorch-ignite==0.5.5 nnunetv2==2.8.1"  # some have sources only
environment=${SPILLWAY_TORCH_ENVIRONMENT:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/spillway/torch-$torch}
done=$environment/complete  # made last; an environment of the user's own needs none

there() { [ -e "$done" ] || { [ -n "${SPILLWAY_TORCH_ENVIRONMENT:-}" ] && [ -x "$environment/bin/python" ]; }; }

find_python() {
  for python in python3 /usr/bin/python3; do
    if "$python" -c 'import ensurepip, venv' 2>/dev/null; then return; fi
  done
  return 1
}

install_any() { # install_any PACKAGE...
  "$environment/bin/pip" install --quiet --disable-pip-version-check --no-cache-dir --retries 1 --timeout 20 "$@" >&2
}
install() { install_any --only-binary :all: "$@"; } # install PACKAGE...

make_environment() {
  find_python || { (need python3-venv) && find_python; } || return 1
  rm -rf "$environment"
  mkdir -p "$environment"
  say "making an environment with PyTorch $torch in $environment"
  "$python" -m venv "$environment" && install "torch==$torch" numpy && : >"$done"
}

if [ "${1:-}" != --where ] && ! there && ! make_environment; then
  say "no environment with PyTorch $torch could be made in $environment"
  exit 1
fi
if [ "${1:-}" = --zoo ] || [ "${1:-}" = --loops ]; then
  # shellcheck disable=SC2086  # one word per package
  install "torch==$torch" $zoo || { say "the networks' packages could not be installed"; exit 1; }
fi
if [ "${1:-}" = --loops ]; then
  # shellcheck disable=SC2086
  install_any "torch==$torch" $zoo $loops || { say "the frameworks could not be installed"; exit 1; }
fi
if there; then printf '%s\n' "$environment"; fi
