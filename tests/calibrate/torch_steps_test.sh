#!/usr/bin/env bash
# calibrate/peers/torch_steps.py without PyTorch: the words, the comparison, the file of rows. What needs PyTorch (and no GPU)
# is in its own --self-test.
#
#   tests/calibrate/torch_steps_test.sh [PROGRAM]     PROGRAM: spillway, whose networks are compared too
set -uo pipefail
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null; then
  echo "skipped: no python3"
  exit 77
fi
source=$(cd "$(dirname "$0")/../.." && pwd)
program=${1:-}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
unset PYTHONDONTWRITEBYTECODE
failed=0
check() { # check WHAT COMMAND...
  local what=$1
  shift
  "$@" || { echo "FAILED: $what"; failed=1; }
}
steps() { python3 "$source/calibrate/peers/torch_steps.py" "$@" >out 2>err; }
# refused WHAT WORDS...: status 2 and one line, which has WHAT in it; nothing on standard output.
refused() {
  local what=$1
  shift
  steps "$@"
  if [[ $? == 2 && $(wc -l <err) == 1 && ! -s out ]] && grep -q -F -- "$what" err; then return; fi
  cat err
  false
}

# Spillway's parameters are those that modules are held against.
if [[ -n $program ]]; then
  check "lists networks" steps --list
  check "three of them" test "$(wc -l <out)" = 3
  while read -r name image parameters; do
    "$program" show network "$name" --batch 1 >shown
    check "$name as Spillway has it" grep -q "^$name: input 1x3x${image}x$image, .* $parameters parameters$" shown
  done <out
fi

# A PyTorch that is not there, or finds no GPU, or cannot train.
mkdir -p absent torch/utils torch/multiprocessing
echo 'raise ImportError("No module named torch")' >absent/torch.py
cat >torch/__init__.py <<'PYTHON'
import os
from types import SimpleNamespace

__version__ = "0.0-pretended"
version = SimpleNamespace(cuda="11.8")
backends = SimpleNamespace(cudnn=SimpleNamespace(version=lambda: 8900), cuda=SimpleNamespace(matmul=SimpleNamespace()))


def device(kind, index=0):
    return SimpleNamespace(type=kind, index=index)


def manual_seed(_):  # the first that training does
    raise RuntimeError(os.environ.get("TRAINS", "it cannot train"))


class Cuda:
    def __getattr__(self, name):
        return lambda *_: None

    OutOfMemoryError = MemoryError
    is_available = staticmethod(lambda: os.environ.get("GPUS", "0") != "0")
    device_count = staticmethod(lambda: int(os.environ["GPUS"]))
    get_device_name = staticmethod(lambda _: "pretended GPU")
    get_device_properties = staticmethod(lambda _: SimpleNamespace(total_memory=12000000000))

    @staticmethod
    def set_per_process_memory_fraction(fraction, _):
        with open("fractions", "a") as file:
            print(fraction, file=file)

    @staticmethod
    def synchronize():
        if os.environ.get("LOST"):
            raise RuntimeError("device lost")


cuda = Cuda()
_C = SimpleNamespace()
PYTHON
echo 'class Module: pass' >torch/nn.py
touch torch/utils/__init__.py torch/multiprocessing/__init__.py
echo 'checkpoint = None' >torch/utils/checkpoint.py
echo 'StorageWeakRef = None' >torch/multiprocessing/reductions.py

export PYTHONPATH=$folder/absent
check "no PyTorch" refused "PyTorch is missing: No module named torch" resnet50:64
export PYTHONPATH=$folder
check "no GPU" refused "cuda:0: PyTorch 0.0-pretended finds no GPU that it can use" resnet50:64
check "nothing is written then" test ! -e torch-steps.csv
GPUS=1 check "a GPU that is not there" refused "cuda:1: there are 1 GPUs" resnet50:64 --device cuda:1
check "a device of another name" refused "'gpu' is none of cpu, cuda:0" resnet50:64 --device gpu
check "a network of another name" refused "did you mean 'resnet50'?" resnet5:64
check "no batch" refused "expected NETWORK:BATCH" resnet50
check "batch 0" refused "'0' is no batch size" resnet50:0
check "a bare limit" refused "'3000' is no limit such as 3GB" resnet50:64:3000
check "a mode of another name" refused "did you mean 'checkpoint'?" resnet50:64 --modes in-core,chekpoint
check "another math" refused "'fp16' is none of fma, tf32" resnet50:64 --math fp16
check "no point" refused "expected a POINT"
check "an option of another name" refused "unrecognized arguments: --step" resnet50:64 --step
check "a limit of a processor" refused "cpu knows no limit" resnet50:64:3GB --device cpu
GPUS=1 check "more than there is" refused "more than the 12000000000" resnet50:64:13GB

# Rows: written as soon as they are known, whatever became of them; each once.
rows() { steps resnet50:2 --device cpu --modes in-core,offload -o rows.csv "$@"; }
rows --seconds 0
check "no time: status 1" test $? = 1
check "which is said" grep -q "no time left for resnet50 batch 2, no limit, in-core, fma; the same command goes on" err
check "no row" test "$(wc -l <rows.csv)" = 1
check "time" rows
check "two rows" test "$(wc -l <rows.csv)" = 3
check "that failed" test "$(grep -c ',0,failed,RuntimeError: it cannot train,' rows.csv)" = 2
cp rows.csv before.csv
check "again" rows
check "nothing is measured twice" cmp rows.csv before.csv
truncate -s -12 rows.csv
check "killed in the last row" rows
check "which is measured again" test "$(wc -l <rows.csv)" = 3
check "and only it" cmp <(head -2 rows.csv) <(head -2 before.csv)
check "in other math they are others" rows --math tf32
check "two more" test "$(wc -l <rows.csv)" = 5
echo "a,b" >other.csv
check "a file of something else" refused "other.csv: has other columns" resnet50:2 --device cpu -o other.csv
check "is left alone" test "$(cat other.csv)" = "a,b"
check "no folder" refused "No such file" resnet50:2 --device cpu -o nowhere/rows.csv

# What does not fit is a row; a device that is lost ends it, and the next call goes on behind.
export GPUS=1
TRAINS='CUDA out of memory. Tried to allocate "2 GiB", 1 free' check "out of memory" \
  steps resnet50:64:3GB --modes in-core,offload -o full.csv
check "is a row" test "$(grep -c ',0,out-of-memory,"out_of_memory: CUDA out of memory. Tried to allocate ""2 GiB"", 1 free",' \
  full.csv)" = 2
check "within a quarter of 12 GB, and all of it again" test "$(paste -sd' ' fractions)" = "0.25 1.0 0.25 1.0"
export LOST=1
steps resnet50:64 --modes in-core,offload -o lost.csv
check "lost: status 1" test $? = 1
check "one row" test "$(wc -l <lost.csv)" = 2
check "which is said" grep -q "the device does not answer any more" err
unset LOST
check "the next row" steps resnet50:64 --modes in-core,offload -o lost.csv
check "is the second" test "$(wc -l <lost.csv)" = 3

# The comparison. Within 3 GB Spillway's best takes 60 ms (64 images: 1067 a second), PyTorch's 80 (800); 60 / 80 = 0.75,
# predicted 56 / 80 = 0.70. Random plans, emulated machines and TF32 are no rivals; nor are rows without the limit.
cat >validation.csv <<'CSV'
network,batch,device,memory_limit_bytes,strategy,predicted_s,measured_s,predicted_peak_bytes,measured_peak_bytes,machine,kind,feasible,reason,measured_host_bytes
resnet50,64,gpu,3000000000,in-core,,,,,gpu,strategy,0,out_of_memory: the plan needs 5.3 GB,
resnet50,64,gpu,3000000000,recompute-all,0.08,0.082,2000000000,1990000000,gpu,strategy,1,,0
resnet50,64,gpu,3000000000,pooch,0.056,0.06,2900000000,,gpu,strategy,1,,3500000000
resnet50,64,gpu,3000000000,random 1,0.05,0.05,2900000000,2900000000,gpu,random,1,,0
resnet50,64,gpu,3000000000,pooch,0.3,0.31,2900000000,2900000000,gpu+emulate=5x,strategy,1,,0
vgg16,32,gpu,3200000000,pooch,0.1,0.1,2900000000,,gpu,strategy,1,,0
CSV
cat >steps.csv <<'CSV'
network,batch,memory_limit_bytes,strategy,math,gpu,torch,cuda,cudnn,allocator,measured_s,peak_allocated_bytes,peak_reserved_bytes,measured_host_bytes,reason
resnet50,64,3000000000,in-core,fma,H,2.0,12,8900,,,,,,"out_of_memory: CUDA, tried"
resnet50,64,3000000000,offload,fma,H,2.0,12,8900,,0.1,2400000000,2980000000,5300000000,
resnet50,64,3000000000,checkpoint,fma,H,2.0,12,8900,,0.08,2400000000,2500000000,0,
resnet50,64,3000000000,checkpoint,tf32,H,2.0,12,8900,,0.03,2400000000,2500000000,0,
resnet50,64,0,in-core,fma,H,2.0,12,8900,,0.05,6400000000,6900000000,0,
resnet50,64,6000000000,in-core,fma,H,2.0,12,8900,,0.05,6400000000,6900000000,0,
resnet50,128,3000000000,offload,fma,H,2.0,12,8900,,0.05,6400000000,6900000000,0,
CSV
cat >expected <<'TEXT'
resnet50, batch 64, 3 GB of device memory; times in ms
          strategy                 predicted  measured  images/s  peak GB  host GB
Spillway  pooch              best       56.0      60.0      1067     2.90     3.50
Spillway  recompute-all                 80.0      82.0       780     1.99     0.00
Spillway  in-core                             out_of_memory: the plan needs 5.3 GB
PyTorch   checkpoint         best                 80.0       800     2.50     0.00
PyTorch   offload                                100.0       640     2.98     5.30
PyTorch   in-core                             out_of_memory: CUDA, tried
PyTorch   checkpoint tf32                         30.0      2133     2.50     0.00
PyTorch   in-core, no limit                       50.0      1280     6.90     0.00
Spillway's best takes 0.75 of the time of PyTorch's best (pooch 60.0 ms, checkpoint 80.0 ms); predicted 0.70

PyTorch 2.0 on H, CUDA 12, cuDNN 8900
left out: 2 rows of random plans and of emulated machines
left out, without rows of PyTorch: 1 of 2 points
TEXT
check "compares" steps --compare validation.csv steps.csv
check "as expected" diff <(head -n -3 out) expected
check "and says what the columns are" grep -q '^peak GB: of the arena' out
sed -i 's/0.08,2400000000,/0.08.1,2400000000,/' steps.csv
check "no number" refused "steps.csv: row 3: measured_s: '0.08.1' is no number" --compare validation.csv steps.csv
check "only one half" refused "no rows of PyTorch among validation.csv" --compare validation.csv
check "something else" refused "no column batch" --compare validation.csv other.csv
check "no file" refused "nowhere.csv: No such file" --compare validation.csv nowhere.csv
check "no bytecode is left" test ! -e "$source/calibrate/__pycache__"
exit $failed
