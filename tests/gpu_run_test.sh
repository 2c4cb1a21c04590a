#!/usr/bin/env bash
# calibrate/gpu-run.sh with a program and a Python that only pretend: order, what is left for the next call, libraries,
# PyTorch's steps, packing.
set -uo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
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
cp "$source/calibrate/gpu-run.sh" "$bundle/calibrate"
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
while (($# > 0)); do
  case $1 in
    -o) echo profile >"$2" ;;
    --out) name=${2##*/}; mkdir -p "$2"; echo row >"$2/validation.csv" ;;
  esac
  shift
done
[[ ${name:-} != "${STOPPED:-none}" ]] || exit 124
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
check "one file beside the folder" test -s "$folder/out.tar.gz"
check "with what was measured" grep -q '^out/validate-resnet50.csv$' <(tar -tzf "$folder/out.tar.gz")
check "and what is done" grep -q '^out/done/resnet50$' <(tar -tzf "$folder/out.tar.gz")
check "without PyTorch it is left out" says 'peers: left out, python3 has no torch'
check "and not asked for" test ! -s "$PEERS"
check "the stopped step is told" says 'vgg16: not done (status 124)'
check "in order" test "$(grep -c . "$CALLS")" = 14
check "the grid is last" grep -q 'calibrate .*--networks resnet50:64,vgg16:32,alexnet:256$' <(tail -1 "$CALLS")
check "the profile of the networks is kept" test -s "$folder/out/gpu-networks.yaml"
check "kernels of the video network before it is validated" grep -q -A1 \
  'calibrate .*--networks scenarios/validate-cuda-resnext101-3d.yaml --no-grid' "$CALLS"
check "which is validated as it is" grep -q 'validate .*/out/resnext101-3d.yaml .*--out .*/validate-resnext101-3d$' "$CALLS"
check "calibrates first" grep -q 'calibrate --device cuda:0' <(head -1 "$CALLS")
check "the setting that changes kernels is not passed on" test -z "$(grep -v '^as it is: ' "$CALLS")"
: >"$CALLS"
unset STOPPED
check "the same time is not enough" run out 490
check "which is said" says 'vgg16: no time left'
check "nothing is done twice" test ! -s "$CALLS"
check "more time is" run out 560
check "one step is left" test "$(grep -c . "$CALLS")" = 1
check "that one" grep -q 'out/validate-vgg16$' <(sed 's/ --out \([^ ]*\).*/ \1/; s/.* //' "$CALLS")

# The grid goes on until nothing of it is left out.
rm "$folder/out/done/grid"
: >"$CALLS"
export LEFT=5
check "a part of the grid" run out 500
check "is not all" says 'grid: not done (status 1)'
LEFT=0
check "the rest" run out 500
check "is measured in the next call" test "$(grep -c 'calibrate .*--networks resnet50:64,vgg16:32,alexnet:256$' "$CALLS")" = 2
check "and the grid is done" test -e "$folder/out/done/grid"

# A measurement that the device is lost at is left out at once; what fails for other reasons is not tried again.
rm "$folder/out/done/grid"
: >"$CALLS"
check "the device is lost once" env LOST="$folder/out/gpu.samples.csv.inflight" bash -c \
  "cd $folder && bash $bundle/calibrate/gpu-run.sh out 500 2>$folder/err"
check "which is said" says 'the device was lost at a measurement'
check "and gone on from" test "$(grep -c calibrate "$CALLS")" = 2
check "to the end" test -e "$folder/out/done/grid"
rm "$folder/out/done/grid"
: >"$CALLS"
check "another failure" env REFUSED=1 bash -c "cd $folder && bash $bundle/calibrate/gpu-run.sh out 500 2>$folder/err"
check "is not tried again" test "$(grep -c calibrate "$CALLS")" = 1
touch "$folder/out/done/grid"

# Where the folder has the test of what a GPU computes, that comes first; a GPU that computes something else is told, which
# is a result. A test that cannot begin is none.
printf '#!/bin/sh\necho compared\nexit "${DIFFERS:-0}"\n' >"$bundle/cuda_gpu_test"
chmod +x "$bundle/cuda_gpu_test"
compared() { # compared STATUS: one call, with a test that ends so
  rm -f "$folder/out/gpu-test.txt"
  env DIFFERS="$1" bash -c "cd $folder && bash $bundle/calibrate/gpu-run.sh out 500 2>$folder/err"
}
compared 127
check "a test that cannot begin is not done" test ! -e "$folder/out/done/computes"
compared 1
check "something else is computed, which is said" says 'computes something else than the processor'
check "and is a result" test -e "$folder/out/done/computes"
check "that is kept" grep -q '^compared$' "$folder/out/gpu-test.txt"
compared 1
check "and not asked for again" test ! -e "$folder/out/gpu-test.txt"
rm "$folder/out/done/computes"
compared 0
check "the right thing is computed" test -e "$folder/out/done/computes"
rm "$bundle/cuda_gpu_test"

# PyTorch's steps: what the scenarios train, with their limits and without any; until none is missing.
export TORCH=1 MISSING=1
: >"$CALLS"
check "PyTorch is there" run out 500
check "nothing else is left" test ! -s "$CALLS"
check "its steps are missing yet" says 'peers: not done (status 1)'
check "compared all the same" grep -q '^compared$' "$folder/out/peers.txt"
check "at the places that were validated" grep -q -- '--compare .*/validate-vgg16.csv .*/torch-steps.csv$' "$PEERS"
check "as they are" test -z "$(grep -E -- '--compare.*(emulated|random)' "$PEERS")"
steps="torch_steps.py --device cuda:0 -o .*/torch-steps.csv --seconds 2[56][0-9]"
limited="resnet50:64:3GB vgg16:32:3.2GB alexnet:256:2.2GB" unlimited="resnet50:64 vgg16:32 alexnet:256"
check "where the scenarios are, in less than the time there is" grep -q -- "$steps $limited\$" "$PEERS"
check "and those first" test -z "$(grep " $unlimited\$" "$PEERS")"
MISSING=0
check "then all" run out 500
check "without a limit too, in a process of its own" grep -q -- "$steps $unlimited\$" "$PEERS"
: >"$PEERS"
check "once" run out 500
check "and only compared" test -z "$(grep -v -- --compare "$PEERS")"
TORCH=0 run out 500
check "PyTorch is not looked for any more" test -z "$(grep 'peers: left out' "$folder/err")"
check "packed" grep -q '^out/peers.txt$' <(tar -tzf "$folder/out.tar.gz")

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
check "nothing is packed" test ! -e "$folder/third.tar.gz"
exit $failed
