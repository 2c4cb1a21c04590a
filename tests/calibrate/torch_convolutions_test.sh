#!/usr/bin/env bash
# calibrate/peers/torch_convolutions.py over a pretended PyTorch, whose device has a clock of its own: the words, rows
# and their times. Results need the real one, and no GPU: they are in its own --self-test.
#
#   tests/calibrate/torch_convolutions_test.sh [PROGRAM]     PROGRAM: spillway, whose layers are compared, and who
#                                                            estimates the rows
set -uo pipefail
# The program itself, not what chooses one: it starts some forty times, without packages of others.
if ! python=$(python3 -c 'import sys; print(sys.executable); sys.exit(sys.version_info < (3, 8))' 2>/dev/null); then
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
convolutions() { "$python" -S "$source/calibrate/peers/torch_convolutions.py" "$@" >out 2>err; }
# refused WHAT WORDS...: status 2 and one line, which has WHAT in it; nothing on standard output.
refused() {
  local what=$1
  shift
  convolutions "$@"
  if [[ $? == 2 && $(wc -l <err) == 1 && ! -s out ]] && grep -q -F -- "$what" err; then return; fi
  cat err
  false
}

# Results by name, inputs by the name of the layer before, windows by the arithmetic of all passes (of a first layer two,
# else three).
check "lists layers" convolutions --list
check "ten of them" test "$(wc -l <out)" = 10
cat >shapes.py <<'PYTHON'
import functools
import re
import subprocess
import sys


@functools.lru_cache(None)
def shown(network, n):
    """Its input's shape, and of each layer the rest of its row: result, GFLOP, bytes, inputs."""
    text = subprocess.run([sys.argv[1], "show", "network", network, "--batch", n], stdout=-1, text=True).stdout
    rows = [row.split() for row in text.split("\n\n")[1].splitlines()[1:]]
    return re.search(r"input (\S+),", text).group(1), {row[0]: row[1:] for row in rows}


for words in map(str.split, open("out")):
    network, layer, (n, c, h, w, k, r, s, pad, stride, size) = words[0], words[1], map(int, words[2:])
    image, rows = shown(network, words[2])
    before = image if rows[layer][-1] == "input" else rows[rows[layer][-1]][0]
    gflop = (2 if before.split("x")[1] == "3" else 3) * 2e-9 * n * k * size * size * c * r * s
    good = before == f"{n}x{c}x{h}x{w}" and rows[layer][0] == f"{n}x{k}x{size}x{size}"
    if not good or abs(float(rows[layer][1]) / gflop - 1) > 0.01 or size != (h + 2 * pad - r) // stride + 1:
        sys.exit(f"{network} {layer}: Spillway has {before} to {rows[layer]}, {gflop:.3g} GFLOP expected")
PYTHON
[[ -z $program ]] || check "as Spillway has them" "$python" -S shapes.py "$program"

# A PyTorch that is not there; and one whose device takes 300 us for a pass in fp32, 150 in TF32, and 1 for an event. It computes only where both ways to allow TF32 say the same.
mkdir -p absent fake/torch/{nn,utils,multiprocessing}
echo 'raise ImportError("No module named torch")' >absent/torch.py
cat >fake/torch/__init__.py <<'PYTHON'
import contextlib
import itertools
import os
from types import SimpleNamespace

__version__ = "0.0-pretended"
version = SimpleNamespace(cuda="11.8")
conv, rnn = SimpleNamespace(fp32_precision="none"), SimpleNamespace(fp32_precision="none")
cudnn = SimpleNamespace(version=lambda: 8900, allow_tf32=None, benchmark_limit=10, conv=conv, rnn=rnn)
backends = SimpleNamespace(cudnn=cudnn, cuda=SimpleNamespace(matmul=SimpleNamespace()))
numbers = itertools.count()
now = 0.0  # ms on the device


def device(kind, index=0):
    return SimpleNamespace(type=kind, index=index)


class randn:
    def __init__(self, shape, device):
        self.shape, self.number = tuple(shape), next(numbers)

    def clamp_(self, min):
        return self


def math():
    if not conv.fp32_precision == rnn.fp32_precision == ("tf32" if cudnn.allow_tf32 else "ieee"):
        raise RuntimeError("a mix of the legacy and new APIs")
    return conv.fp32_precision


def compute(which, image):
    global now
    if math() == "tf32" and os.environ.get("NO_TF32"):
        raise RuntimeError(os.environ["NO_TF32"])
    now += 0.15 if math() == "tf32" else 0.3
    if os.environ.get("OPERANDS") and image.shape == (64, 128, 28, 28) and which == "forward":
        with open("operands", "a") as file:
            print(math(), image.number, file=file)


def convolution_backward(gradient, image, weight, bias, stride, pad, dilation, transposed, more, groups, mask):
    compute("data" if mask[0] else "filter", image)
    return "data" if mask[0] else None, "filter" if mask[1] else None, None


ops = SimpleNamespace(aten=SimpleNamespace(convolution_backward=convolution_backward))
mm = lambda a, b: None  # noqa: E731


class Event:
    def __init__(self, enable_timing):
        pass

    def record(self):
        global now
        self.at = now
        now += 1e-3

    def elapsed_time(self, end):
        return round(end.at - self.at, 6)

    def query(self):
        return bool(os.environ.get("BEHIND"))


class Cuda:
    def __getattr__(self, name):
        return lambda *_: None

    Event = Event
    OutOfMemoryError = MemoryError
    is_available = staticmethod(lambda: os.environ.get("GPUS", "0") != "0")
    device_count = staticmethod(lambda: int(os.environ["GPUS"]))
    get_device_name = staticmethod(lambda _: "pretended GPU")
    get_device_properties = staticmethod(lambda _: SimpleNamespace(total_memory=12e9, L2_cache_size=200000000))

    @staticmethod
    def synchronize():
        if os.environ.get("LOST"):
            raise RuntimeError("device lost")


cuda = Cuda()
_C = SimpleNamespace()
no_grad = contextlib.nullcontext
from . import nn  # noqa: E402
PYTHON
cat >fake/torch/nn/__init__.py <<'PYTHON'
from types import SimpleNamespace

import torch


class Module:
    pass


functional = SimpleNamespace(conv2d=lambda image, weight, bias, stride, pad: torch.compute("forward", image))
PYTHON
touch fake/torch/utils/__init__.py fake/torch/multiprocessing/__init__.py
echo 'checkpoint = None' >fake/torch/utils/checkpoint.py
echo 'StorageWeakRef = None' >fake/torch/multiprocessing/reductions.py

export PYTHONPATH=$folder/absent
check "no PyTorch" refused "PyTorch is missing: No module named torch"
check "nor for the self-test" refused "PyTorch is missing: No module named torch" --self-test
export PYTHONPATH=$folder/fake
check "no GPU" refused "cuda:0: PyTorch 0.0-pretended finds no GPU that it can use"
check "nothing is written then" test ! -e torch-convolutions.csv
check "a device of another name" refused "'gpu' is none of cpu, cuda:0" --device gpu
check "a math of another name" refused "did you mean 'tf32'?" --math fma,tf23
check "too few timings" refused "--timings: at least 20" --timings 19
check "no number" refused "--seconds" --seconds soon
check "an option of another name" refused "unrecognized arguments: --kernels" --kernels
export GPUS=1
check "a GPU that is not there" refused "cuda:1: there are 1 GPUs" --device cuda:1
check "no folder" refused "No such file" -o nowhere/rows.csv
echo "a,b" >other.csv
check "a file of something else" refused "other.csv: has other columns" -o other.csv
check "is left alone" test "$(cat other.csv)" = "a,b"

# Rows: 29 of each math, as soon as they are known, each once.
rows() { convolutions -o rows.csv --timings 20 "$@"; }
rows --seconds 0
check "no time: status 1" test $? = 1
check "which is said" grep -q "no time left for resnet50 res2b_branch2b forward fma; the same command goes on" err
check "no row" test "$(wc -l <rows.csv)" = 1
OPERANDS=1 check "all" rows
check "twice 29, and the head" test "$(wc -l <rows.csv)" = 59
# has PASS,ALGORITHM,MATH RESULT: one row of res2b_branch2b's, on the pretended GPU, up to its date.
has() {
  local source="cold,resnet50,PyTorch 0.0-pretended"
  test "$(grep -c -F -- "pretended GPU,11.8,8900,conv,$1,fp32,nchw,64,64,56,56,64,3,3,1,1,$source,$2,20" rows.csv)" = 1
}
check "fp32" has forward,best,fma 300,300,300,20,ok,,
check "TF32" has backward_data,best,tf32 150,150,150,20,ok,,
check "no data gradient of the image" test "$(grep -c ',64,3,224,224,' rows.csv)" = 4
# Twice the cache are 7 sets of 52 MB, each of which is read.
check "operands go round" test "$(sort -u operands | cut -d' ' -f1 | sort | uniq -c | xargs)" = "7 ieee 7 tf32"
cp rows.csv before.csv
check "again" rows
check "nothing is measured twice" cmp rows.csv before.csv
truncate -s -12 rows.csv
check "killed in the last row" rows
check "which alone is measured again" cmp rows.csv before.csv
check "and said" test "$(cat err)" = "vgg16 conv1_2 backward_filter tf32: 150.0 us"
sed -i '/,forward,best,tf32,fp32,nchw,64,64,56,56,64,3,/d' rows.csv
BEHIND=1 check "on a slow host" rows
check "a row says so" has forward,best,tf32 "150,150,150,20,ok,not held,"

# Spillway reads the rows and puts its own times beside them.
if [[ -n $program ]]; then
  check "estimates" "$program" estimate before.csv --machine v100-x86-pcie3 -o estimated.csv 2>err
  check "beside PyTorch's times" grep -q ',300,300,300,20,ok,,,2.*,winograd,.*,model,published,' estimated.csv
  check "all rows" test "$(grep -c ',model' estimated.csv)" = 58
fi

# What fails is a row; a device that is lost ends it, and the next call goes on behind.
NO_TF32='CUDA out of memory. Tried to allocate "2 GiB", 1 free' check "out of memory" \
  convolutions -o full.csv --timings 20 --math tf32
check "is a row" test \
  "$(grep -c ',out-of-memory,,"out_of_memory: CUDA out of memory. Tried to allocate ""2 GiB"", 1 free",' full.csv)" = 29
NO_TF32='no such kernel' convolutions -o failed.csv --timings 20 --math tf32
check "what fails" test "$(grep -c ',failed,,RuntimeError: no such kernel,' failed.csv)" = 29
LOST=1 convolutions -o lost.csv --timings 20
check "lost: status 1" test $? = 1
check "one row" test "$(wc -l <lost.csv)" = 2
check "which is said" grep -q "the device does not answer any more" err
check "the next rows" convolutions -o lost.csv --timings 20 --math fma
check "are the others" test "$(wc -l <lost.csv)" = 30
check "no bytecode is left" test ! -e "$source/calibrate/peers/__pycache__"
exit $failed
