#!/usr/bin/env bash
# calibrate/torch joined into spillway_torch.py, and tests of that file: once for every PyTorch that is there.
#
#   tests/calibrate/torch_record_test.sh [PROGRAM [FOLDER [CASE...]]]   FOLDER: where spillway_torch.py is built
#
# In the deep tier (SPILLWAY_DEEP) torch_zoo.py and torch_today.py follow, on PyTorch 2.6 and later; after carrier_test.py the networks and
# loops of carrier_zoo.py, carrier_frameworks.py and carrier_nnunet.py.
# In the quick tier two loops of carrier_frameworks.py come after auto_test.py.
# SPILLWAY_DRAWER: the tests of scenarios, which draw the random plans of carrier_test.py; left out without it.
# SPILLWAY_TORCH_TEST: another file of tests in this folder, such as carrier_test.py, in place of torch_record_test.py.
# Pythons: SPILLWAY_TORCH_PYTHON if set, else that of calibrate/torch/environment.sh if it was made, and Debian's.
set -uo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
tests=${SPILLWAY_TORCH_TEST:-torch_record_test.py}
program=${1:-}
folder=${2:-}
if [[ -z $folder ]]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
fi
shift $(($# < 2 ? $# : 2))
mkdir -p "$folder"
if [[ -n ${SPILLWAY_TORCH_PYTHON:-} ]]; then
  pythons=("$SPILLWAY_TORCH_PYTHON")
else
  made=$("$source/calibrate/torch/environment.sh" --where)
  pythons=(${made:+"$made/bin/python"} /usr/bin/python3)
fi
tried=0
failed=0
for python in "${pythons[@]}"; do
  if ! "$python" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)' 2>/dev/null; then
    echo "left out: $python has no PyTorch"
    continue
  fi
  tried=$((tried + 1))
  "$python" "$source/calibrate/torch/join.py" -o "$folder/spillway_torch.py" || exit 1
  PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$folder OMP_NUM_THREADS=1 SPILLWAY=$program \
    "$python" "$source/tests/calibrate/$tests" "$@" || failed=1
  more=()
  if [[ -n ${SPILLWAY_DEEP:-} && $# == 0 ]] && "$python" -c 'import torch.accelerator' 2>/dev/null; then
    case $tests in
      torch_record_test.py) more=(torch_zoo.py torch_today.py) ;;
      carrier_test.py) more=(carrier_zoo.py carrier_frameworks.py carrier_nnunet.py) ;;
    esac
  fi
  loops=()
  if [[ -z ${SPILLWAY_DEEP:-} && $# == 0 && $tests == auto_test.py ]] && "$python" -c 'import torch.accelerator' 2>/dev/null; then
    more=(carrier_frameworks.py) loops=(Lightning "Transformers Trainer")
  fi
  for each in ${more[@]+"${more[@]}"}; do
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$folder:$source/tests/calibrate OMP_NUM_THREADS=1 SPILLWAY=$program \
      "$python" "$source/tests/calibrate/$each" ${loops[@]+"${loops[@]}"} || failed=1
  done
done
if ((tried == 0)); then
  echo "skipped: no PyTorch (Debian's python3-torch, or calibrate/torch/environment.sh)"
  exit 77
fi
exit $failed
