#!/usr/bin/env bash
# calibrate/gpu-run.sh with a program and a Python that only pretend: order, what is left for the next call, libraries,
# PyTorch's steps, packing, what a kill leaves.
set -uo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
check() { # check WHAT COMMAND...
  local what=$1
  shift
  "$@" || { echo "FAILED: $what"; failed=1; }
}
says() { grep -q -- "$1" "$folder/err" || { cat "$folder/err"; false; }; }

# The portable folder, whose program notes what it is asked for.
bundle=$folder/bundle
mkdir -p "$bundle/calibrate"
cp "$source"/calibrate/gpu-*.sh "$bundle/calibrate"
cp -r "$source/scenarios" "$bundle"
cat >"$bundle/spillway" <<'PROGRAM'
#!/usr/bin/env bash
if [[ $1 == --version ]]; then echo pretended; exit; fi
if [[ -n ${NEEDS:-} && :${LD_LIBRARY_PATH:-}: != *:$NEEDS:* ]]; then echo "libcudnn.so.9: cannot open shared object"; exit 2; fi
if [[ "$*" == *none.yaml* ]]; then echo "none.yaml: no such file"; exit 2; fi
echo "${NVIDIA_TF32_OVERRIDE:-as it is}: $*" >>"$CALLS"
if [[ $1 == calibrate ]]; then
  echo "gpu.samples.csv: 9 samples measured; ${LEFT:-0} left out for time" >&2
  if [[ -n ${LOST:-} && ! -e $LOST ]]; then echo key >"$LOST"; exit 2; fi
  if [[ -n ${REFUSED:-} ]]; then exit 2; fi
fi
if [[ $1 == probe ]]; then echo looked at; exit "${ODD:-0}"; fi
verb=$1
while (($# > 0)); do
  case $1 in
    -o) if [[ $verb == calibrate ]]; then echo samples >"${2%.yaml}.samples.csv"; fi; echo profile >"$2" ;;
    --resume) if [[ $verb == validate && -n ${CHANGED:-} ]]; then exit 2; fi ;;
    --out) folder=$2 name=${2##*/}; mkdir -p "$2"; echo row >"$2/validation.csv"; echo row >"$2/results.csv" ;;
  esac
  shift
done
sleep "${SLOW:-0}"
if [[ ${name:-} == "${STOPPED:-none}" ]]; then echo case >"$folder/validation.journal"; exit 124; fi
if [[ $verb == validate ]]; then rm -f "$folder/validation.journal"; fi
PROGRAM
chmod +x "$bundle/spillway"
export CALLS=$folder/calls PEERS=$folder/peers SITE=$folder/nothing
# TORCH: there is PyTorch; MISSING: not all of its steps could be measured yet.
mkdir "$folder/bin"
cat >"$folder/bin/python3" <<'PYTHON'
#!/usr/bin/env bash
case "$*" in
  *'find_spec("torch")'*) exit $((${TORCH:-0} ? 0 : 1)) ;;
  *"import site"*) echo "$SITE"; exit ;;
esac
echo "${LD_LIBRARY_PATH:-}: $*" >>"$PEERS"
if [[ $2 == --compare ]]; then echo compared; exit; fi
while (($# > 0)); do
  if [[ $1 == -o ]]; then echo row >"$2"; fi
  shift
done
exit "${MISSING:-0}"
PYTHON
chmod +x "$folder/bin/python3"
export PATH=$folder/bin:$PATH
: >"$PEERS"
run() { (cd "$folder" && unset SPILLWAY && bash "$bundle/calibrate/gpu-run.sh" "$@" 2>"$folder/err"); }

# A step that is stopped is left for a call with more time; the others go on.
export NVIDIA_TF32_OVERRIDE=0 STOPPED=validate-vgg16
check "a profile and a validation" run out 500
check "five files in the folder" test "$(cd "$folder/out" && echo *)" = \
  "gpu.yaml log.txt results.tar.gz samples.csv.gz tables.txt"
check "with what was measured" grep -q '^./validate-resnet50.csv$' <(tar -tzf "$folder/out/results.tar.gz")
check "and what is done" grep -q '^./done/resnet50$' <(tar -tzf "$folder/out/results.tar.gz")
check "tables begin with the probe" grep -q -A1 '^== probe.txt$' "$folder/out/tables.txt"
check "without PyTorch it is left out" says 'peers: left out, python3 has no torch'
check "and not asked for" test ! -s "$PEERS"
check "the stopped step is told" says 'vgg16: not done (status 124)'
check "in order" test "$(grep -c . "$CALLS")" = 18
check "the grid is last" grep -q 'calibrate .*--networks resnet50:64,vgg16:32,alexnet:256$' <(tail -1 "$CALLS")
check "managed memory is not asked for" test -z "$(grep managed "$CALLS")"
check "the profile of the networks is kept" test -s "$folder/out.work/gpu-networks.yaml"
check "kernels of the video network before it is validated" grep -q -A1 \
  'calibrate .*--groups networks,beside --networks scenarios/validate-cuda-resnext101-3d.yaml' "$CALLS"
check "which is validated as it is" grep -q 'validate .*/out.work/resnext101-3d.yaml .*--out .*/validate-resnext101-3d$' "$CALLS"
check "looks first" grep -q ': probe --device cuda:0$' <(head -1 "$CALLS")
check "then transfers" grep -q 'calibrate --device cuda:0 .*--groups copies,host$' <(sed -n 2p "$CALLS")
check "then launches" grep -q -- '--groups networks,beside --networks resnet50:64$' <(sed -n 3p "$CALLS")
check "then the first validation" grep -q 'validate .*resnet50.yaml' <(sed -n 4p "$CALLS")
check "the setting that changes kernels is not passed on" test -z "$(grep -v '^as it is: ' "$CALLS")"
: >"$CALLS"
unset STOPPED
check "too little time" run out 59
check "is said" says 'vgg16: no time left'
check "nothing is done twice" test ! -s "$CALLS"
check "enough time" run out 500
check "one step is left" test "$(grep -c . "$CALLS")" = 1
check "gone on with" grep -q ' validate-vgg16 *--resume$' <(sed 's/.* --out [^ ]*\// /' "$CALLS")
check "that one" grep -q 'out.work/validate-vgg16$' <(sed 's/ --out \([^ ]*\).*/ \1/; s/.* //' "$CALLS")

# What cannot be gone on with begins anew, once.
rm "$folder/out.work/done/vgg16"
echo case >"$folder/out.work/validate-vgg16/validation.journal"
: >"$CALLS"
check "a changed profile" env CHANGED=1 bash -c "cd $folder && bash $bundle/calibrate/gpu-run.sh out 560 2>$folder/err"
check "which is said" says 'vgg16: cannot be gone on with, it begins anew'
check "is tried twice" test "$(grep -c . "$CALLS")" = 2
check "then without what was there" test -z "$(tail -1 "$CALLS" | grep -e --resume)"
check "to the end" test -e "$folder/out.work/done/vgg16"

# The grid goes on until nothing of it is left out.
rm "$folder/out.work/done/grid"
: >"$CALLS"
export LEFT=5
check "a part of the grid" run out 500
check "is not all" says 'grid: not done (status 1)'
LEFT=0
check "the rest" run out 500
check "is measured in the next call" test "$(grep -c 'calibrate .*--networks resnet50:64,vgg16:32,alexnet:256$' "$CALLS")" = 2
check "and the grid is done" test -e "$folder/out.work/done/grid"

# A measurement that the device is lost at is left out at once; what fails for other reasons is not tried again.
rm "$folder/out.work/done/grid"
: >"$CALLS"
check "the device is lost once" env LOST="$folder/out.work/gpu.samples.csv.inflight" bash -c \
  "cd $folder && bash $bundle/calibrate/gpu-run.sh out 500 2>$folder/err"
check "which is said" says 'the device was lost at a measurement'
check "and gone on from" test "$(grep -c calibrate "$CALLS")" = 2
check "to the end" test -e "$folder/out.work/done/grid"
rm "$folder/out.work/done/grid"
: >"$CALLS"
check "another failure" env REFUSED=1 bash -c "cd $folder && bash $bundle/calibrate/gpu-run.sh out 500 2>$folder/err"
check "is not tried again" test "$(grep -c calibrate "$CALLS")" = 1
touch "$folder/out.work/done/grid"

# Where the folder has the test of what a GPU computes, that comes first; a GPU that computes something else is told, which
# is a result. A test that cannot begin is none.
printf '#!/bin/sh\necho compared\nexit "${DIFFERS:-0}"\n' >"$bundle/cuda_gpu_test"
chmod +x "$bundle/cuda_gpu_test"
compared() { # compared STATUS: one call, with a test that ends so
  rm -f "$folder/out.work/gpu-test.txt"
  env DIFFERS="$1" bash -c "cd $folder && bash $bundle/calibrate/gpu-run.sh out 500 2>$folder/err"
}
compared 127
check "a test that cannot begin is not done" test ! -e "$folder/out.work/done/computes"
compared 1
check "something else is computed, which is said" says 'computes something else than the processor'
check "and is a result" test -e "$folder/out.work/done/computes"
check "that is kept" grep -q '^compared$' "$folder/out.work/gpu-test.txt"
compared 1
check "and not asked for again" test ! -e "$folder/out.work/gpu-test.txt"
rm "$folder/out.work/done/computes"
compared 0
check "the right thing is computed" test -e "$folder/out.work/done/computes"
rm "$bundle/cuda_gpu_test"

# PyTorch's steps: what the scenarios train, with their limits and without any; until none is missing.
export TORCH=1 MISSING=1
: >"$CALLS"
check "PyTorch is there" run out 500
check "nothing else is left but estimates" test -z "$(grep -v " estimate " "$CALLS")"
check "its steps are missing yet" says 'peers: not done (status 1)'
check "compared all the same" grep -q '^compared$' "$folder/out.work/peers.txt"
check "at the places that were validated" grep -q -- '--compare .*/validate-vgg16.csv .*/torch-steps.csv$' "$PEERS"
check "as they are" test -z "$(grep -E -- '--compare.*(emulated|random)' "$PEERS")"
steps="torch_steps.py --device cuda:0 -o .*/torch-steps.csv --seconds 2[56][0-9]"
limited="resnet50:64:3GB vgg16:32:3.2GB alexnet:256:2.2GB" unlimited="resnet50:64 vgg16:32 alexnet:256"
check "where the scenarios are, in less than the time there is" grep -q -- "$steps $limited\$" "$PEERS"
check "and those first" test -z "$(grep " $unlimited\$" "$PEERS")"
MISSING=0
check "then all" run out 500
cp "$PEERS" "$folder/peers.all"
check "without a limit too, in a process of its own" grep -q -- "$steps $unlimited\$" "$PEERS"
: >"$PEERS"
check "once" run out 500
check "and only compared" test -z "$(grep -v -- --compare "$PEERS")"
TORCH=0 run out 500
check "PyTorch is not looked for any more" test -z "$(grep 'peers: left out' "$folder/err")"
check "ten convolutions too" grep -q -- '-o .*/torch-convolutions.csv --seconds 1[0-9]*$' "$folder/peers.all"
check "beside our times of them" grep -q 'estimate .*/torch-convolutions.csv --machine .*/gpu.yaml -o .*/convolutions.csv$' "$CALLS"
check "packed" grep -q '^./peers.txt$' <(tar -tzf "$folder/out/results.tar.gz")

# Libraries among Python's packages, and none at all.
mkdir -p "$folder/site/nvidia/cudnn/lib"
touch "$folder/site/nvidia/cudnn/lib/libcudnn.so.9"
export SITE=$folder/site NEEDS=$folder/site/nvidia/cudnn/lib LD_LIBRARY_PATH=$folder/own
: >"$PEERS"
check "libraries are found" run other
check "and told" says "libraries: .*$NEEDS"
check "PyTorch keeps its own" grep -q "^$folder/own: .*-o " "$PEERS"
NEEDS=/nowhere run third
check "status 2 without" test $? = 2
check "and why" says 'libcudnn.so.9: cannot open'
check "nothing is packed" test -z "$(ls -A "$folder/third")"
unset NEEDS

# Elsewhere, from what came back.
: >"$CALLS"
export SPILLWAY_RESULTS=$folder/out/results.tar.gz
check "results of an earlier call are gone on from" run elsewhere 500
check "with nothing left to do" test -z "$(grep -v " estimate " "$CALLS")"
SPILLWAY_RESULTS=$folder/out/log.txt
run nowhere 500
check "what is none is refused" test $? = 2
unset SPILLWAY_RESULTS

# PoocH's table 3: predictions go out before any step runs, plans are crossed.
: >"$CALLS"
check "PoocH's table 3" run table3 500 pooch
check "is looked at, measured, predicted, then run" test "$(sed 's/^as it is: \([a-z]*\).*/\1/' "$CALLS" | uniq | paste -sd' ')" = \
  "probe calibrate run validate plan validate plan validate"
check "predictions are packed with their hash" grep -q 'predicted-calibrated/results.csv$' "$folder/table3.work/predictions.sha256"
check "balances are apart" grep -q '^emulate: \[{compute_slowdown: 4}\]$' "$folder/table3.work/table3-n.yaml"
check "each" grep -q '^emulate: \[{compute_slowdown: 4, link_rate: 10 GB/s}\]$' "$folder/table3.work/table3-p.yaml"
check "the random plans' is none" test -z "$(grep '^emulate' "$folder/table3.work/table3-as-is.yaml")"
check "a plan for the fast link under the slow one" grep -q 'table3-p.yaml .*--plan .*/plan-n.yaml' "$CALLS"

# Whatever second it is killed at, what lies in the folder is whole.
for k in 1 2 3; do
  (cd "$folder" && unset SPILLWAY && SLOW=0.2 PACK_EVERY=0.1 exec setsid bash "$bundle/calibrate/gpu-run.sh" "killed$k" 500 2>/dev/null) &
  sleep "0.$((3 + 2 * k))"
  kill -9 -- -$! 2>/dev/null
  wait $! 2>/dev/null
  check "kill $k: six files at most" test "$(find "$folder/killed$k" -mindepth 1 | wc -l)" -le 6
  check "kill $k: the archive is whole" tar -tzf "$folder/killed$k/results.tar.gz" >/dev/null
done
exit $failed
