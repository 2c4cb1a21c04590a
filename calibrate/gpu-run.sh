#!/usr/bin/env bash
# Measures this machine's GPU and checks Spillway's predictions on it, the most useful first.
#
#   calibrate/gpu-run.sh OUTDIR [SECONDS]
#
# SECONDS (540): after these nothing new is begun, and what runs is stopped. That is meant to give a profile and the
# validation of ResNet-50. The same command again goes on where it stopped: nothing is measured twice, steps that are
# done are left out, and one that was stopped is begun again only with more time than it had. In this order:
#
#   check        the program is there or built, and finds the GPU; what machine this is
#   computes     every op and pass, against the processor (cuda_gpu_test, where the portable folder has it)
#   transfers    copies, host calls, then ResNet-50's kernels in fp32 and TF32, into OUTDIR/gpu.yaml
#   resnet50     six strategies within 3 GB, predicted and measured
#   others       kernels of VGG-16 and AlexNet; both validated as they are
#   emulated     ResNet-50, VGG-16, AlexNet with another machine's balance
#   peers        the same networks, batches and limits in PyTorch (torch_steps.py), where python3 has it
#   video        kernels of ResNeXt-101 3D; validated as it is
#   random       thirty random plans of each network
#   grid         the zoo at several batches and DeepBench's lists, for networks that nobody measured, as far as the time
#                goes and again until nothing is left; fp16, fused convolutions, copies between GPUs
#
# Results: gpu.yaml (profile; gpu-networks.yaml: before the grid), gpu.samples.csv (every measurement), validate-*.txt
# and .csv, torch-steps.csv, peers.txt, gpu-test.txt, machine.txt, log.txt; packed as OUTDIR.tar.gz, which may be
# unpacked elsewhere to go on there. Clocks are read, never set. The program is $SPILLWAY, or the one of the portable
# folder that this script lies in, or is built here. cuDNN and cuBLAS are looked for among Python's packages where the
# loader knows none.
# Exit status: 0 there is a profile and a validation, 1 not yet, 2 there is no GPU to measure or the words are wrong.
set -uo pipefail

usage() {
  sed -n '2,27s/^# \{0,1\}//p' "$0" >&2
  exit 2
}
[[ $# -ge 1 && $# -le 2 && $1 != -* ]] || usage
total=${2:-540}
[[ $total =~ ^[0-9]+$ ]] || usage
mkdir -p "$1/done" || exit 2
out=$(cd "$1" && pwd)
program=${SPILLWAY:+$(realpath "$SPILLWAY")}
cd "$(dirname "$0")/.." || exit 2
[[ -z $program && -x spillway && ! -e CMakeLists.txt ]] && program=$PWD/spillway
profile=$out/gpu.yaml
libraries_before=${LD_LIBRARY_PATH:-} # PyTorch brings its own: none of those found for Spillway in front of them
unset NVIDIA_TF32_OVERRIDE CUDA_LAUNCH_BLOCKING # they change what is measured

left() { echo $((total - SECONDS)); }
say() { echo "[$SECONDS s] $*" | tee -a "$out/log.txt" >&2; }
# at_most SECONDS COMMAND...: no longer than that, nor than there is time; SIGTERM lets calibrate write its profile.
at_most() {
  local seconds=$1
  shift
  (($(left) < seconds)) && seconds=$(left)
  ((seconds > 0)) || return 124
  timeout --signal=TERM --kill-after=5 "$seconds" "$@"
}
# step NAME LEAST FUNCTION...: unless it is done, or fewer seconds are left than it takes at least. One that is stopped
# takes more than it had.
step() {
  local name=$1 least=$2 had=0 status
  shift 2
  [[ -e $out/done/$name ]] && return 0
  [[ -e $out/done/$name.stopped ]] && had=$(<"$out/done/$name.stopped")
  ((had < least)) || least=$((had + 1))
  local seconds
  seconds=$(left)
  if ((seconds < least)); then
    say "$name: no time left ($seconds s, it takes at least $least)"
    return 1
  fi
  say "$name"
  "$@"
  status=$?
  if ((status == 0)); then
    touch "$out/done/$name"
    return 0
  fi
  say "$name: not done (status $status)"
  # Calibration goes on where it was.
  [[ $1 == calibrate || $1 == grid ]] && return
  if ((status == 124 || status == 137)); then echo "$seconds" >"$out/done/$name.stopped"; fi
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
    timeout 10 lscpu | grep -E 'Model name|^CPU\(s\)|NUMA'
    timeout 10 nvidia-smi
    timeout 10 "$program" --version
  } >"$out/machine.txt" 2>&1
  [[ -x $program ]]
}

# Folders with cuDNN or cuBLAS where CUDA's packages, containers and Python's packages put them.
library_folders() {
  local packages folder
  packages=$(timeout 10 python3 -c 'import site; print(*site.getsitepackages(), site.getusersitepackages(), sep="\n")' \
    2>/dev/null)
  {
    printf '%s\n' /usr/local/cuda/lib64 /usr/local/nvidia/lib64
    while read -r folder; do
      [[ -z $folder ]] || printf '%s\n' "$folder"/nvidia/{cudnn,cublas,cu13,cu12}/lib "$folder/torch/lib"
    done <<<"$packages"
  } | while read -r folder; do
    if compgen -G "$folder/libcudnn*.so*" >/dev/null || compgen -G "$folder/libcublas*.so*" >/dev/null; then
      echo "$folder"
    fi
  done
}

# Sets `message` to what is missing. The profile that is not there is complained of behind the GPU. A machine that has
# just started reads libraries of a GB for the first time.
finds_gpu() {
  message=$(timeout 120 "$program" validate "$(scenario resnet50)" --device cuda:0 --machine none.yaml 2>&1)
  (($? != 124)) || message="the GPU does not answer within two minutes"
  [[ $message == *none.yaml* ]]
}

# Times of a GPU that computes something else are worth little: gpu-test.txt says what. That it does is a result, and the
# check is not repeated; one that was stopped, or could not begin, is.
computes() {
  at_most 120 ./cuda_gpu_test >"$out/gpu-test.txt" 2>&1
  local status=$?
  case $status in
    0 | 124 | 126 | 127 | 137) return "$status" ;;
  esac
  say "the GPU computes something else than the processor; see $out/gpu-test.txt"
}

lines() { if [[ -e $1 ]]; then wc -l <"$1"; else echo 0; fi; }

# calibrate SECONDS LAST WORDS...: what the last fit takes, LAST seconds at most, is not in the budget. A row that the
# device was lost at is left out by the next call, which is made at once.
calibrate() {
  local end=$1 last=$2 status seconds lost=${profile%.yaml}.samples.csv.inflight before
  (($(left) < end)) && end=$(left)
  end=$((SECONDS + end))
  shift 2
  for (( ; ; )); do
    seconds=$((end - SECONDS))
    ((seconds > last + 3)) || return 1
    before=$(lines "$lost")
    at_most "$seconds" "$program" calibrate --device cuda:0 -o "$profile" --resume \
      --budget "$((seconds - last))s" "$@" 2>>"$out/log.txt"
    status=$?
    ((status != 0 && status != 124 && status != 137 && $(lines "$lost") > before)) || return "$status"
    say "the device was lost at a measurement, which is left out from now on"
  done
}

# Done when nothing is left out for want of time. Its profile has some megabytes: that of the networks is kept.
grid() {
  [[ -e $out/gpu-networks.yaml ]] || cp "$profile" "$out/gpu-networks.yaml" || return 1
  calibrate 600 60 --networks resnet50:64,vgg16:32,alexnet:256 &&
    grep 'left out for time$' "$out/log.txt" | tail -n 1 | grep -q '; 0 left out'
}

# validate NAME SCENARIO WORDS...: as long as it takes.
validate() {
  local name=$1 scenario=$2
  shift 2
  [[ -e $profile ]] || return 1
  at_most "$total" "$program" validate "$scenario" --device cuda:0 --machine "$profile" --steps 10 \
    --out "$out/validate-$name" "$@" >"$out/validate-$name.txt" 2>>"$out/log.txt"
  local status=$?
  # 1: predictions or memory did not hold, which is a result too.
  ((status <= 1)) || return "$status"
  cp "$out/validate-$name/validation.csv" "$out/validate-$name.csv"
}
scenario() { echo "scenarios/validate-cuda-$1.yaml"; }
# Without `emulate:`, and with what is emulated alone.
as_is() { sed '/^emulate:/d' "$(scenario "$1")" >"$out/$1.yaml" && validate "$1" "$out/$1.yaml"; }
emulated() {
  sed 's/^\(emulate: \[\)as-is, /\1/' "$(scenario "$1")" >"$out/$1-emulated.yaml" &&
    validate "$1-emulated" "$out/$1-emulated.yaml"
}
random() {
  sed '/^emulate:/d' "$(scenario "$1")" >"$out/$1.yaml" && validate "$1-random" "$out/$1.yaml" --random 30
}

# point NETWORK: its name, batch and limit in its scenario, as torch_steps.py reads them: resnet50:64:3GB
point() {
  local file zoo batch limit
  file=$(scenario "$1")
  zoo=$(sed -n 's/^network:.*zoo: *\([^,} ]*\).*/\1/p' "$file")
  batch=$(sed -n 's/^network:.*batch: *\([0-9]*\).*/\1/p' "$file")
  limit=$(sed -n 's/^memory: *\([0-9.]*\) *\([A-Za-z]*\).*/\1\2/p' "$file")
  echo "$zoo:$batch:$limit"
}
# measure_peers END POINT...: in one process, which ends by itself, up to SECONDS = END. A row may take half a minute.
measure_peers() {
  local seconds=$(($1 - SECONDS))
  shift
  ((seconds > 45)) || return 1
  at_most "$seconds" env LD_LIBRARY_PATH="$libraries_before" python3 calibrate/peers/torch_steps.py --device cuda:0 \
    -o "$out/torch-steps.csv" --seconds "$((seconds - 40))" "$@" 2>>"$out/log.txt"
}
# Goes on where it stopped; status 1 while rows are missing. What has no limit is measured by a process of its own, which
# does not keep the algorithms that another one found within a limit.
peers() {
  local seconds=300 end network limited=() unlimited=()
  (($(left) < seconds)) && seconds=$(left)
  end=$((SECONDS + seconds))
  for network in resnet50 vgg16 alexnet; do
    limited+=("$(point "$network")")
    unlimited+=("${limited[-1]%:*}")
  done
  measure_peers "$end" "${limited[@]}" && measure_peers "$end" "${unlimited[@]}"
}
# Whether it is there is asked without loading it, which may take a minute on a machine that has just started.
peers_where_torch_is() {
  if [[ ! -e $out/done/peers ]] && ! timeout 60 env LD_LIBRARY_PATH="$libraries_before" \
    python3 -c 'import importlib.util as u; raise SystemExit(u.find_spec("torch") is None)' >/dev/null 2>&1; then
    say "peers: left out, python3 has no torch"
    return
  fi
  step peers 60 peers
}
# Anew each time: validations may have come in.
compare_peers() {
  local validations=()
  mapfile -t validations < <(compgen -G "$out/validate-*.csv" | grep -E '/validate-(resnet50|vgg16|alexnet)\.csv$')
  [[ -s $out/torch-steps.csv && ${#validations[@]} -gt 0 ]] || return 0
  python3 calibrate/peers/torch_steps.py --compare "${validations[@]}" "$out/torch-steps.csv" >"$out/peers.txt" \
    2>>"$out/log.txt" || say "peers: cannot be compared; see $out/log.txt"
}

pack() {
  tar -czf "$out.tar.gz" -C "$(dirname "$out")" "$(basename "$out")"
  say "packed: $out.tar.gz"
}

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
trap pack EXIT

[[ ! -x cuda_gpu_test ]] || step computes 20 computes
step transfers 60 calibrate 200 12 --networks resnet50:64 --no-grid
step resnet50 60 as_is resnet50
step others 40 calibrate 100 12 --networks vgg16:32,alexnet:256 --no-grid
step vgg16 60 as_is vgg16
step alexnet 60 as_is alexnet
step resnet50-emulated 60 emulated resnet50
step vgg16-emulated 60 emulated vgg16
step alexnet-emulated 60 emulated alexnet
peers_where_torch_is
step video 40 calibrate 100 12 --networks "$(scenario resnext101-3d)" --no-grid
step resnext101-3d 60 as_is resnext101-3d
for network in resnet50 vgg16 alexnet; do step "$network-random" 120 random "$network"; done
step grid 120 grid
compare_peers
[[ -e $profile && -e $out/validate-resnet50.csv ]]
