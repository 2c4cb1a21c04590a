#!/usr/bin/env bash
# Measures this machine's GPU and checks Spillway's predictions on it, the most useful first.
#
#   calibrate/gpu-run.sh OUTDIR [SECONDS [usual|pooch]]
#
# SECONDS (540): after these nothing new is begun, and what runs is stopped. The same command again goes on where it
# stopped: nothing is measured twice, and steps that are done are left out. The steps of `usual`, in this order:
#
#   smoke        `spillway probe`: what the GPU is, whether clocks and holds do what measuring relies on, a convolution by
#                every algorithm with what cuDNN says of it
#   transfers    pinned copies and host calls, into gpu.yaml
#   launches     ResNet-50's kernels, those in fp32 first, and copies beside them
#   resnet50     six strategies within 3 GB, predicted and measured
#   computes     every op and pass, against the processor (cuda_gpu_test, where the portable folder has it)
#   others       kernels of VGG-16 and AlexNet; both validated as they are
#   emulated     ResNet-50, VGG-16, AlexNet with another machine's balance
#   peers        the same networks, batches and limits in PyTorch (torch_steps.py), and ten convolutions
#                (torch_convolutions.py), where python3 has it
#   again        ResNet-50's kernels once more: what was noisy, how far times drift
#   video        kernels of ResNeXt-101 3D; validated as it is
#   random       thirty random plans of each network
#   memory       copies of ordinary memory, of rows that lie apart, on the device
#   grid         the zoo at several batches and DeepBench's lists, for networks that nobody measured, as far as the time
#                goes and again until nothing is left; copies between GPUs
#   managed      memory that the driver moves; only with MANAGED=1, since it can hang a GPU
#
# PINNED_LIMIT=100GiB: how much pinned memory plans may count on, where the system says less or more than there is.
#
# Of `pooch`, the paper's Table 3 on this GPU (scenarios/validate-cuda-pooch-table3.yaml): smoke, transfers, then
#
#   table3       launches of ResNet-50 at the batch of the scenario
#   predictions  under the shipped profile and under the measured one, packed with their hash before any step runs
#   balances     as the machine is, then both balances, one validation
#   crossed      plans that were made for the other balance
#   random       ten random plans as the machine is
#
# Results are packed after every step, and every ten seconds meanwhile, so that whatever ends the command leaves what is
# known, whole: five files straight in OUTDIR,
#
#   results.tar.gz  everything; to go on elsewhere, or in another OUTDIR, name it in SPILLWAY_RESULTS
#   gpu.yaml        the profile, once there is one
#   samples.csv.gz  every measurement
#   tables.txt      what the probe and each validation printed
#   log.txt         what was done when
#
# The work itself lies beside it, in OUTDIR.work. Clocks are read, never set. The program is $SPILLWAY, or the one of the
# portable folder that this script lies in, or is built here. cuDNN and cuBLAS are looked for among Python's packages where
# the loader knows none.
# Exit status: 0 there is a profile and a validation, 1 not yet, 2 there is no GPU to measure or the words are wrong.
set -uo pipefail

usage() {
  sed -n '2,/^# Exit status/s/^# \{0,1\}//p' "$0" >&2
  exit 2
}
[[ $# -ge 1 && $# -le 3 && $1 != -* ]] || usage
total=${2:-540} plan=${3:-usual}
[[ $total =~ ^[0-9]+$ && ($plan == usual || $plan == pooch) ]] || usage
mkdir -p "$1" "${1%/}.work" || exit 2
results=$(cd "$1" && pwd)
out=$(cd "${1%/}.work" && pwd)
[[ -z ${SPILLWAY_RESULTS:-} ]] || SPILLWAY_RESULTS=$(realpath "$SPILLWAY_RESULTS")
program=${SPILLWAY:+$(realpath "$SPILLWAY")}
cd "$(dirname "$0")/.." || exit 2
[[ -z $program && -x spillway && ! -e CMakeLists.txt ]] && program=$PWD/spillway
profile=$out/gpu.yaml
libraries_before=${LD_LIBRARY_PATH:-} # PyTorch brings its own: none of those found for Spillway in front of them
unset NVIDIA_TF32_OVERRIDE CUDA_LAUNCH_BLOCKING # they change what is measured
# shellcheck source=calibrate/gpu-steps.sh
source calibrate/gpu-steps.sh
# shellcheck source=calibrate/gpu-peers.sh
source calibrate/gpu-peers.sh

take_results || exit 2
mkdir -p "$out/done"
if ! check; then
  say "the program cannot be built; see $out/log.txt"
  exit 2
fi
if ! finds_gpu; then
  # One clear message where there is no GPU.
  folders=$(library_folders | paste -sd: -)
  export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folders
  if [[ -z $folders ]] || ! finds_gpu; then
    say "$message"
    exit 2
  fi
  say "libraries: $LD_LIBRARY_PATH"
fi
pack_now_and_then &
packer=$!
trap 'kill "$packer" 2>/dev/null; wait "$packer" 2>/dev/null; pack; say "packed: $results"; pack' EXIT

usual() {
  step smoke 10 smoke
  step transfers 20 calibrate 45 6 --groups copies,host
  step launches 60 calibrate 200 12 --groups networks,beside --networks resnet50:64
  step resnet50 60 as_is resnet50
  [[ ! -x cuda_gpu_test ]] || step computes 20 computes
  step others 40 calibrate 100 12 --groups networks,beside --networks vgg16:32,alexnet:256
  step vgg16 60 as_is vgg16
  step alexnet 60 as_is alexnet
  step resnet50-emulated 60 emulated resnet50
  step vgg16-emulated 60 emulated vgg16
  step alexnet-emulated 60 emulated alexnet
  peers_where_torch_is
  step again 40 calibrate 120 12 --groups again --networks resnet50:64
  step video 40 calibrate 100 12 --groups networks,beside --networks "$(scenario resnext101-3d)"
  step resnext101-3d 60 as_is resnext101-3d
  local network
  for network in resnet50 vgg16 alexnet; do step "$network-random" 120 random "$network"; done
  step memory 40 calibrate 100 12 --groups memory
  step grid 120 grid
  [[ -z ${MANAGED:-} ]] || step managed 40 calibrate 100 12 --groups managed
  compare_peers
  [[ -e $profile && -e $out/validate-resnet50.csv ]]
}

pooch() {
  step smoke 10 smoke
  step transfers 20 calibrate 35 6 --groups copies,host
  step table3 60 calibrate 170 12 --groups networks,beside --networks "$(scenario pooch-table3)"
  step predictions 5 predictions
  step table3-balances 60 table3 table3 "$(scenario pooch-table3)"
  step table3-crossed-p 30 crossed n p
  step table3-crossed-n 30 crossed p n
  step table3-random 60 table3 table3-random "$(part_of as-is)" --strategy pooch --random 10
  [[ -e $profile && -e $out/validate-table3.csv ]]
}

"$plan"
