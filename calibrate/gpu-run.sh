#!/usr/bin/env bash
# Measures this machine's GPU and checks Spillway's predictions on it, the most useful first.
#
#   calibrate/gpu-run.sh OUTDIR [SECONDS]
#
# SECONDS (570): after these nothing new is begun, and what runs is stopped. Ten minutes give a profile and the validation
# of ResNet-50. The same command again goes on where it stopped: nothing is measured twice, steps that are done are left
# out. In this order:
#
#   check        the program is built and finds the GPU; what machine this is
#   transfers    copies, host calls, then ResNet-50's kernels in fp32 and TF32, into OUTDIR/gpu.yaml
#   resnet50     six strategies within 3 GB, predicted and measured
#   others       kernels of VGG-16 and AlexNet; both validated as they are
#   emulated     ResNet-50, VGG-16, AlexNet with another machine's balance
#   grid         many more shapes, so that the profile holds for networks that nobody measured
#   random       thirty random plans of each network
#
# Results: gpu.yaml (profile), gpu.samples.csv (every measurement), validate-*.txt and .csv, machine.txt, log.txt; packed
# as OUTDIR/results.tar.gz. Clocks are read, never set. SPILLWAY names the program to use, otherwise it is built here.
# Exit status: 0 there is a profile and a validation, 1 not yet, 2 there is no GPU to measure or the words are wrong.
set -uo pipefail

usage() {
  sed -n '2,21s/^# \{0,1\}//p' "$0" >&2
  exit 2
}
[[ $# -ge 1 && $# -le 2 && $1 != -* ]] || usage
total=${2:-570}
[[ $total =~ ^[0-9]+$ ]] || usage
mkdir -p "$1/done" || exit 2
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/.." || exit 2
program=${SPILLWAY:+$(realpath "$SPILLWAY")}
profile=$out/gpu.yaml

left() { echo $((total - SECONDS)); }
say() { echo "[$SECONDS s] $*" | tee -a "$out/log.txt" >&2; }
# at_most SECONDS COMMAND...: no longer than that, nor than there is time; SIGTERM lets calibrate write its profile.
at_most() {
  local seconds=$1
  shift
  (($(left) < seconds)) && seconds=$(left)
  timeout --signal=TERM --kill-after=30 "$seconds" "$@"
}
# step NAME LEAST FUNCTION...: unless it is done, or fewer seconds are left than it takes at least.
step() {
  local name=$1 least=$2
  shift 2
  [[ -e $out/done/$name ]] && return 0
  if (($(left) < least)); then
    say "$name: no time left"
    return 1
  fi
  say "$name"
  if "$@"; then
    touch "$out/done/$name"
  else
    say "$name: not done (status $?)"
  fi
}

check() {
  if [[ -z $program ]]; then
    build=${SPILLWAY_BUILD_DIR:-build-gpu}
    cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DSPILLWAY_CUDA=ON -DSPILLWAY_TESTS=OFF \
      -DSPILLWAY_BENCHMARKS=OFF -DSPILLWAY_WERROR=OFF >>"$out/log.txt" 2>&1 &&
      cmake --build "$build" --target spillway -j"$(nproc)" >>"$out/log.txt" 2>&1 || return 2
    program=$(realpath "$build")/spillway
  fi
  {
    date -u
    uname -a
    lscpu | grep -E 'Model name|^CPU\(s\)|NUMA'
    nvidia-smi
    "$program" --version
  } >"$out/machine.txt" 2>&1
  [[ -x $program ]]
}

# calibrate SECONDS WORDS...
calibrate() {
  local seconds=$1
  (($(left) < seconds)) && seconds=$(left)
  shift
  ((seconds > 15)) || return 1
  # What the last fit takes is not in the budget.
  at_most "$seconds" "$program" calibrate --device cuda:0 -o "$profile" --resume --budget "$((seconds - 12))s" "$@" \
    2>>"$out/log.txt"
}

# validate NAME SCENARIO SECONDS WORDS...
validate() {
  local name=$1 scenario=$2 seconds=$3
  shift 3
  [[ -e $profile ]] || return 1
  at_most "$seconds" "$program" validate "$scenario" --device cuda:0 --machine "$profile" --steps 10 \
    --out "$out/validate-$name" "$@" >"$out/validate-$name.txt" 2>>"$out/log.txt"
  local status=$?
  # 1: predictions or memory did not hold, which is a result too.
  ((status <= 1)) || return "$status"
  cp "$out/validate-$name/validation.csv" "$out/validate-$name.csv"
}
scenario() { echo "scenarios/validate-cuda-$1.yaml"; }
# Without `emulate:`, and with what is emulated alone.
as_is() { sed '/^emulate:/d' "$(scenario "$1")" >"$out/$1.yaml" && validate "$1" "$out/$1.yaml" "$2"; }
emulated() {
  sed 's/^\(emulate: \[\)as-is, /\1/' "$(scenario "$1")" >"$out/$1-emulated.yaml" &&
    validate "$1-emulated" "$out/$1-emulated.yaml" "$2"
}
random() { validate "$1-random" "$out/$1.yaml" "$2" --random 30; }

pack() {
  (cd "$out" && rm -f results.tar.gz && tar -czf results.tar.gz --exclude=results.tar.gz --exclude=done ./*)
  say "packed: $out/results.tar.gz"
}

if ! check; then
  say "the program cannot be built; see $out/log.txt"
  exit 2
fi
# One clear message where there is no GPU.
if ! message=$("$program" validate "$(scenario resnet50)" --device cuda:0 --machine none.yaml 2>&1) &&
  [[ $message != *none.yaml* ]]; then
  say "$message"
  exit 2
fi
trap pack EXIT

step transfers 60 calibrate 200 --networks resnet50:64 --no-grid
step resnet50 40 as_is resnet50 150
step others 40 calibrate 100 --networks vgg16:32,alexnet:256 --no-grid
step vgg16 40 as_is vgg16 100
step alexnet 40 as_is alexnet 100
step resnet50-emulated 60 emulated resnet50 300
step vgg16-emulated 60 emulated vgg16 300
step alexnet-emulated 60 emulated alexnet 300
step grid 60 calibrate 600 --networks resnet50:64,vgg16:32,alexnet:256
for network in resnet50 vgg16 alexnet; do step "$network-random" 120 random "$network" 600; done
[[ -e $profile && -e $out/validate-resnet50.csv ]]
