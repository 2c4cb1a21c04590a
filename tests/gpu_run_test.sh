#!/usr/bin/env bash
# calibrate/gpu-run.sh with a program that only pretends: order, what is left for the next call, libraries, packing.
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
export CALLS=$folder/calls
run() { (cd "$folder" && unset SPILLWAY && bash "$bundle/calibrate/gpu-run.sh" "$@" 2>"$folder/err"); }

# A step that is stopped is left for a call with more time; the others go on.
export NVIDIA_TF32_OVERRIDE=0 STOPPED=validate-vgg16
check "a profile and a validation" run out 500
check "one file beside the folder" test -s "$folder/out.tar.gz"
check "with what was measured" grep -q '^out/validate-resnet50.csv$' <(tar -tzf "$folder/out.tar.gz")
check "without what is done" test -z "$(tar -tzf "$folder/out.tar.gz" | grep "done")"
check "the stopped step is told" says 'vgg16: not done (status 124)'
check "in order" test "$(grep -c . "$CALLS")" = 12
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

# Libraries among Python's packages, and none at all.
mkdir -p "$folder/bin" "$folder/site/nvidia/cudnn/lib"
touch "$folder/site/nvidia/cudnn/lib/libcudnn.so.9"
printf '#!/bin/sh\necho "%s"\n' "$folder/site" >"$folder/bin/python3"
chmod +x "$folder/bin/python3"
export PATH=$folder/bin:$PATH NEEDS=$folder/site/nvidia/cudnn/lib
check "libraries are found" run other
check "and told" says "libraries: .*$NEEDS"
NEEDS=/nowhere run third
check "status 2 without" test $? = 2
check "and why" says 'libcudnn.so.9: cannot open'
check "nothing is packed" test ! -e "$folder/third.tar.gz"
exit $failed
