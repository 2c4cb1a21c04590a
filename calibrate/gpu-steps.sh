# Steps of gpu-run.sh, which sources this file. Uses its variables: total, results, out, program, profile,
# libraries_before.
# shellcheck shell=bash disable=SC2154

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
# step NAME LEAST FUNCTION...: unless it is done, or fewer seconds are left than it takes at least. Calibrations and
# validations that were stopped go on where they were, in the next call.
step() {
  local name=$1 least=$2 status
  shift 2
  [[ -e $out/done/$name ]] && return 0
  if (($(left) < least)); then
    say "$name: no time left ($(left) s, it takes at least $least)"
    return 1
  fi
  say "$name"
  "$@"
  status=$?
  if ((status == 0)); then touch "$out/done/$name"; else say "$name: not done (status $status)"; fi
  pack
  return "$status"
}

# ---- results

# put FILE NAME: into the folder of results, whole or not at all. One name more than the five at most is ever there.
put() { [[ ! -s $1 ]] || { cp "$1" "$results/.packing" && mv -f "$results/.packing" "$results/$2"; }; }

# What is known so far. Files that are being written are whole but for a journal's last line, which is dropped when it is
# read; a tar that saw one grow says so by status 1.
pack() {
  (
    flock 9
    local parts=$out/.pack
    mkdir -p "$parts"
    tar -czf "$parts/results.tar.gz" --exclude=.pack --exclude=.lock -C "$out" . 2>/dev/null
    put "$parts/results.tar.gz" results.tar.gz
    put "$profile" gpu.yaml
    if [[ -s $out/gpu.samples.csv ]]; then gzip -c "$out/gpu.samples.csv" >"$parts/samples.csv.gz" 2>/dev/null; fi
    put "$parts/samples.csv.gz" samples.csv.gz
    tables >"$parts/tables.txt"
    put "$parts/tables.txt" tables.txt
    put "$out/log.txt" log.txt
  ) 9>"$out/.lock"
}
pack_now_and_then() {
  while sleep "${PACK_EVERY:-10}"; do pack; done
}
tables() {
  local file
  for file in "$out"/machine.txt "$out"/probe.txt "$out"/predictions.sha256 "$out"/gpu-test.txt "$out"/validate-*.txt \
    "$out"/peers.txt "$out"/convolutions.csv; do
    [[ ! -s $file ]] || { echo "== ${file##*/}"; cat "$file"; echo; }
  done
}

# Of an earlier call, where they are named and nothing has been done here.
take_results() {
  [[ -n ${SPILLWAY_RESULTS:-} && ! -e $out/done ]] || return 0
  tar -xzf "$SPILLWAY_RESULTS" -C "$out" || {
    echo "$SPILLWAY_RESULTS cannot be unpacked; it is the results.tar.gz of an earlier call" >&2
    return 1
  }
  say "going on from $SPILLWAY_RESULTS"
}

# ---- the program and the GPU

check() {
  if [[ -z $program ]]; then
    build=${SPILLWAY_BUILD_DIR:-build-gpu}
    say "building in $build, which takes minutes the first time; what it says is in $out/log.txt"
    # Ninja, as everywhere: CMake's rules for make know no C++20 in CUDA's files before 3.26 or so.
    cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSPILLWAY_CUDA=ON -DSPILLWAY_TESTS=OFF \
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

# ---- steps

# What a first look tells is a result, whatever it says. cuDNN's own log says why it refuses what it refuses.
smoke() {
  CUDNN_LOGLEVEL_DBG=2 CUDNN_LOGDEST_DBG=$out/cudnn.log at_most 60 "$program" probe --device cuda:0 >"$out/probe.txt" \
    2>>"$out/log.txt"
  local status=$?
  ((status <= 1)) || return "$status"
  ((status == 0)) || say "the probe found what should not be; see probe.txt"
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
      --budget "$((seconds - last))s" ${PINNED_LIMIT:+--pinned-limit "$PINNED_LIMIT"} "$@" 2>>"$out/log.txt"
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

# validate NAME SCENARIO WORDS...: as long as it takes; `steps` (10) of each plan. One that was stopped is gone on with;
# where that is refused, as the profile or the program is another one by now, it begins anew.
validate() {
  local name=$1 scenario=$2 resume='' status
  shift 2
  [[ -e $profile ]] || return 1
  if [[ -e $out/validate-$name/validation.journal ]]; then resume=--resume; fi
  for (( ; ; )); do
    at_most "$total" "$program" validate "$scenario" --device cuda:0 --machine "$profile" --steps "${steps:-10}" \
      --out "$out/validate-$name" "$@" ${resume:+"$resume"} >"$out/validate-$name.txt" 2>>"$out/log.txt"
    status=$?
    [[ $status == 2 && -n $resume ]] || break
    say "$name: cannot be gone on with, it begins anew"
    resume=''
  done
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

# ---- PoocH's Table 3

# part_of BALANCE: writes the scenario with that one of its balances, and says where. as-is; n, as on NVLink; p, as on PCIe.
part_of() {
  local balance
  case $1 in
    as-is) balance='/^emulate:/d' ;;
    n) balance='s/^\(emulate: \[\)as-is, \({[^}]*}\).*/\1\2]/' ;;
    p) balance='s/^\(emulate: \[\).*\({[^}]*}\]\)$/\1\2/' ;;
  esac
  sed "$balance" "$(scenario pooch-table3)" >"$out/table3-$1.yaml"
  echo "$out/table3-$1.yaml"
}
table3() { steps=5 validate "$@"; }
# crossed PLANNED RUN: pooch's plan for one balance, carried out under another.
crossed() {
  local plan=$out/plan-$1.yaml
  at_most 60 "$program" plan "$(part_of "$1")" --machine "$profile" --strategy pooch -o "$plan" 2>>"$out/log.txt" ||
    return
  table3 "table3-crossed-$2" "$(part_of "$2")" --plan "$plan"
}

# Under the shipped profile, which is blind, and the measured one; the hash goes out before any step runs.
predictions() {
  local name machine=h100-sxm
  for name in predicted-blind predicted-calibrated; do
    at_most 180 "$program" run "$(scenario pooch-table3)" --machine "$machine" --out "$out/$name" >"$out/$name.txt" \
      2>>"$out/log.txt" || return
    machine=$profile
  done
  (cd "$out" && date -u && sha256sum predicted-*/results.csv predicted-*.txt) >"$out/predictions.sha256"
}
