#!/usr/bin/env bash
# calibrate/peers/torch_convolutions.py over a pretended PyTorch, whose device has a clock of its own: the words, rows
# and their times, the comparison. Results need the real one, and no GPU: they are in its own --self-test.
#
#   tests/calibrate/torch_convolutions_test.sh [PROGRAM]     PROGRAM: spillway, whose layers are compared too
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

# The ten are those of bench_beyond.cc, in Spillway's shapes: results by name, inputs by the name of the layer before,
# windows by the arithmetic of all passes (of a first layer two, else three).
check "lists layers" convolutions --list
check "ten of them" test "$(wc -l <out)" = 10
named=$(sed -n '/HalfConvolutions() {/,/^}/s/"[0-9a-z_]*"/\n&\n/gp' "$source/calibrate/devices/cuda/bench_beyond.cc" |
  grep -o '^"[0-9a-z_]*' | tr -d '"' | paste -sd' ')
check "which bench_beyond.cc names" test "$named" = \
  "$(awk '$1 != before { printf "%s%s", before ? " " : "", $1 } { printf " %s", $2; before = $1 }' out)"
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

# A PyTorch that is not there; and one whose device takes 300 us for a pass in fp32, 150 in TF32, 50 for halves, and 1
# for an event. It computes only where both ways to allow TF32 say the same.
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
float16, float32 = SimpleNamespace(bits=16), SimpleNamespace(bits=32)
channels_last, contiguous_format = "nhwc", "nchw"
numbers = itertools.count()
now = 0.0  # ms on the device


def device(kind, index=0):
    return SimpleNamespace(type=kind, index=index)


def finfo(dtype):
    return dtype


class randn:
    def __init__(self, shape, device):
        self.shape, self.number = tuple(shape), next(numbers)

    def clamp_(self, min):
        return self

    def to(self, dtype, memory_format):
        self.dtype, self.format = dtype, memory_format
        return self


def math():
    if not conv.fp32_precision == rnn.fp32_precision == ("tf32" if cudnn.allow_tf32 else "ieee"):
        raise RuntimeError("a mix of the legacy and new APIs")
    return conv.fp32_precision


def compute(which, image):
    global now
    half = image.dtype is float16
    if half and os.environ.get("HALVES"):
        raise RuntimeError(os.environ["HALVES"])
    if image.format != ("nhwc" if half else "nchw"):
        raise RuntimeError("another layout")
    now += 0.05 if half else 0.15 if math() == "tf32" else 0.3
    cuda.ran = which + (" f16" if half else " " + math())
    if os.environ.get("OPERANDS") and image.shape == (64, 128, 28, 28) and which == "forward":
        with open("operands", "a") as file:
            print(half, image.number, file=file)


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
cat >fake/torch/profiler.py <<'PYTHON'
import os
from types import SimpleNamespace

import torch

ProfilerActivity = SimpleNamespace(CUDA="CUDA")


def event(name, microseconds, kind="DeviceType.CUDA"):
    return SimpleNamespace(name=name, device_type=kind, time_range=SimpleNamespace(elapsed_us=lambda: microseconds))


class profile:
    def __init__(self, activities):
        if os.environ.get("NO_PROFILER"):
            raise RuntimeError("not permitted")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def events(self):
        return [event("cudaLaunchKernel", 9, "DeviceType.CPU"), event("Activity Buffer Request", 900),
                event("void transpose<float, 4>(float*, int)", 1.25), event(f"a {torch.cuda.ran} kernel", 28.5)]
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
check "a precision of another name" refused "did you mean 'tf32'?" --precisions fp32,tf23
check "too few timings" refused "--timings: at least 20" --timings 19
check "no number" refused "--seconds" --seconds soon
check "an option of another name" refused "unrecognized arguments: --kernels" --kernels
export GPUS=1
check "a GPU that is not there" refused "cuda:1: there are 1 GPUs" --device cuda:1
check "no folder" refused "No such file" -o nowhere/rows.csv
echo "a,b" >other.csv
check "a file of something else" refused "other.csv: has other columns" -o other.csv
check "is left alone" test "$(cat other.csv)" = "a,b"

# Rows: 29 of each precision, as soon as they are known, each once.
rows() { convolutions -o rows.csv --timings 20 "$@"; }
rows --seconds 0
check "no time: status 1" test $? = 1
check "which is said" grep -q "no time left for resnet50 res2b_branch2b forward fp32; the same command goes on" err
check "no row" test "$(wc -l <rows.csv)" = 1
OPERANDS=1 check "all" rows
check "three times 29, and the head" test "$(wc -l <rows.csv)" = 88
# has LAYER,PASS,MATH,PRECISION,LAYOUT,SHAPE RESULT: one row of these, on the pretended GPU, up to its date.
has() { test "$(grep -c -F -- "$1,cuda:0,pretended GPU,0.0-pretended,11.8,8900,,10,$2" rows.csv)" = 1; }
# A millisecond is 4 launches of 300 us, 7 of 150 us, 20 of 50 us. Twice the cache are 3 sets of 103 MB.
conv=64,64,56,56,64,3,3,1,1
check "fp32" has "resnet50,res2b_branch2b,forward,fma,fp32,nchw,$conv" \
  '300,300,300,300,20,4,1,3,102907904,"28.5 a forward ieee kernel | 1.25 void transpose<float, 4>(float*, int)",ok,,20'
check "TF32" has "resnet50,res2b_branch2b,backward_data,tf32,fp32,nchw,$conv" \
  '150,150,150,150,20,7,1,3,102907904,"28.5 a data tf32 kernel | '
check "fp16" has "resnet50,res2b_branch2b,backward_filter,fp16,fp16,nhwc,$conv" \
  '50,50,50,50,20,20,1,7,51453952,"28.5 a filter f16 kernel | '
check "no data gradient of the image" test "$(grep -c '^resnet50,conv1,' rows.csv)" = 6
# Of 52 MB and 26 MB 7 and 15 sets, in fp32, in TF32 and in fp16; each is read.
check "operands go round" test "$(sort -u operands | cut -d' ' -f1 | sort | uniq -c | xargs)" = "14 False 15 True"
cp rows.csv before.csv
check "again" rows
check "nothing is measured twice" cmp rows.csv before.csv
truncate -s -12 rows.csv
check "killed in the last row" rows
check "which alone is measured again" cmp rows.csv before.csv
check "and said" test "$(cat err)" = "vgg16 conv1_2 backward_filter fp16: 50.0 us"
sed -i 5d rows.csv
NO_PROFILER=1 BEHIND=1 check "without a profiler, on a slow host" rows
check "why" grep -q '^no kernels are told: RuntimeError: not permitted$' err
check "a row says both" \
  grep -q '^resnet50,res2b_branch2b,forward,tf32,.*,10,150,150,150,150,20,7,0,3,102907904,,ok,,' rows.csv
sed -i '/^vgg16,conv1_2,backward_filter,fp16,/d' rows.csv
check "unasked" rows --no-kernels
check "no kernels" grep -q '^vgg16,conv1_2,backward_filter,fp16,.*,1,1,411115520,,ok,,' rows.csv

# What fails is a row; a device that is lost ends it, and the next call goes on behind.
HALVES='CUDA out of memory. Tried to allocate "2 GiB", 1 free' check "out of memory" \
  convolutions -o full.csv --timings 20 --precisions fp16
check "is a row" test \
  "$(grep -c ',out-of-memory,"RuntimeError: CUDA out of memory. Tried to allocate ""2 GiB"", 1 free",' full.csv)" = 29
HALVES='no such kernel' convolutions -o failed.csv --timings 20 --precisions fp16
check "what fails" test "$(grep -c ',failed,RuntimeError: no such kernel,' failed.csv)" = 29
LOST=1 convolutions -o lost.csv --timings 20
check "lost: status 1" test $? = 1
check "one row" test "$(wc -l <lost.csv)" = 2
check "which is said" grep -q "the device does not answer any more" err
check "the next rows" convolutions -o lost.csv --timings 20 --precisions fp32
check "are the others" test "$(wc -l <lost.csv)" = 30

# The comparison, res2b_branch2b's passes. Of fp32 forward Spillway's best takes 100 us (98 and 102 in two rounds, a
# noisy one and a throttled one aside), PyTorch 80: 1.25; the library's default 120 / 80 = 1.50. Data gradient: the cold row, 60 / 80 = 0.75.
# None of the last rows is a rival: sums, races, kernels beside copies, failures, other ops and shapes.
cat >samples.csv <<'CSV'
device,cudnn,op,pass,algorithm,math,precision,layout,n,c,h,w,k,r,s,pad,stride,groups,accumulate,kind,contention,median_us,status,heuristic_rank,note,flags
H,9.1.0,conv,forward,implicit_precomp_gemm,fma,fp32,nchw,64,64,56,56,64,3,3,1,1,1,,step,none,120,,0,round 1; load 0.10
H,9.1.0,conv,forward,winograd,fma,fp32,nchw,64,64,56,56,64,3,3,1,1,1,,step,none,98,,1,round 1; load 0.10
H,9.1.0,conv,forward,winograd,fma,fp32,nchw,64,64,56,56,64,3,3,1,1,1,,step,none,102,,1,round 2; load 0.10
H,9.1.0,conv,forward,winograd,fma,fp32,nchw,64,64,56,56,64,3,3,1,1,1,,step,none,30,,1,round 3; noisy; load 0.10
H,9.1.0,conv,forward,winograd,fma,fp32,nchw,64,64,56,56,64,3,3,1,1,1,,step,none,31,,1,,own time; throttled
H,9.1.0,conv,backward_data,algo_1,,,,64,64,56,56,64,3,,1,,,,cold,,60,ok,,round 1
H,9.1.0,conv,backward_data,algo_1,fma,fp32,nchw,64,64,56,56,64,3,3,1,1,1,,step,none,50,,0,round 1
H,9.1.0,conv,forward,implicit_gemm,tf32,fp32,nchw,64,64,56,56,64,3,3,1,1,1,,step,none,55,,2,round 1
H,9.1.0,conv,forward,winograd,tf32,fp32,nchw,64,64,56,56,64,3,3,1,1,1,,step,none,50,,1,round 1
H,9.1.0,conv,backward_data,algo_1,tf32,fp32,nchw,64,64,56,56,64,3,3,1,1,1,,step,none,30,,0,round 1
H,9.1.0,conv,forward,winograd,fp16,fp16,nchw,64,64,56,56,64,3,3,1,1,1,,step,none,20,,0,round 1
H,9.1.0,conv,forward,implicit_precomp_gemm,fp16,fp16,nhwc,64,64,56,56,64,3,3,1,1,1,,step,none,25,,0,round 1
H,9.1.0,conv,backward_filter,algo_1,fma,fp32,nchw,64,64,56,56,64,3,3,1,1,1,1,step,none,10,,0,round 1
H,9.1.0,conv,backward_filter,algo_1,fma,fp32,nchw,64,64,56,56,64,3,3,1,1,1,,race,none,10,,0,round 1
H,9.1.0,conv,backward_filter,algo_1,fma,fp32,nchw,64,64,56,56,64,3,3,1,1,1,,step,h2d,10,,0,round 1
H,9.1.0,conv,backward_filter,algo_1,fma,fp32,nchw,64,64,56,56,64,3,3,1,1,1,,step,none,,not_supported,0,round 1
H,9.1.0,conv_bias_relu,forward,winograd,fma,fp32,nchw,64,64,56,56,64,3,3,1,1,1,,step,none,10,,0,round 1
H,9.1.0,conv,forward,winograd,fma,fp32,nchw,63,64,56,56,64,3,3,1,1,1,,step,none,what,,0,round 1
CSV
{
  head -1 before.csv
  sed 's/$/,ok,,2026-10-01/;s/^/resnet50,res2b_branch2b,/;s/CONV/64,64,56,56,64,3,3,1,1,cuda:0,H,2.11,13.0,91200,,10/' <<'CSV'
forward,fma,fp32,nchw,CONV,80,79,82.5,79,30,13,1,1,102907904,80 void cudnn::winograd::Kernel<cudnn::sgemm_128x64_nn>(cudnn::Params)
backward_data,fma,fp32,nchw,CONV,80,79,82,79,30,13,1,1,102907904,80 void implicit_convolve<float>(int)
backward_filter,fma,fp32,nchw,CONV,70,69,72,69,30,15,1,1,102907904,60 sm80_xmma_wgrad_tf32f32_tf32f32_f32
forward,tf32,fp32,nchw,CONV,40,39,42,39,30,25,1,1,102907904,30 sgemm_128x64_nn | 5 nchwToNhwc | 5 nhwcToNchw
forward,fp16,fp16,nhwc,CONV,50,49,52,49,30,20,1,1,51453952,
CSV
} >torch.csv
failure='failed,RuntimeError: FIND was unable,2026-10-01'
grep -m1 ',backward_data,tf32,' before.csv |
  sed "s/pretended GPU,.*/H,2.11,13.0,91200,,10,,,,,,,,,,,$failure/" >>torch.csv
cat >expected <<'TEXT'
fp32, nchw; medians in us
layer                    shape                   pass              best  algorithm  default  algorithm              PyTorch  80 %       best/  default/  its kernel
resnet50 res2b_branch2b  64x64x56x56 to 64, 3x3  forward          100.0  winograd     120.0  implicit_precomp_gemm     80.0  79.0-82.5   1.25      1.50  sgemm_128x64_nn
resnet50 res2b_branch2b  64x64x56x56 to 64, 3x3  backward_data     60.0  algo_1           -                            80.0  79.0-82.0   0.75         -  implicit_convolve
resnet50 res2b_branch2b  64x64x56x56 to 64, 3x3  backward_filter      -                   -                            70.0  69.0-72.0      -         -  sm80_xmma_wgrad_tf32f32_tf32f32_f32

tf32, nchw; medians in us
layer                    shape                   pass           best  algorithm  default  algorithm          PyTorch  80 %       best/  default/  its kernel
resnet50 res2b_branch2b  64x64x56x56 to 64, 3x3  forward        50.0  winograd      50.0  winograd (rank 1)     40.0  39.0-42.0   1.25      1.25  sgemm_128x64_nn and 2 more
resnet50 res2b_branch2b  64x64x56x56 to 64, 3x3  backward_data  30.0  algo_1        30.0  algo_1                   -                 -         -  RuntimeError: FIND was unable

fp16, nhwc; medians in us
layer                    shape                   pass     best  algorithm              default  algorithm              PyTorch  80 %       best/  default/  its kernel
resnet50 res2b_branch2b  64x64x56x56 to 64, 3x3  forward  25.0  implicit_precomp_gemm     25.0  implicit_precomp_gemm     50.0  49.0-52.0   0.50      0.50  ?

fp32: Spillway's fastest algorithm takes 1.00 of PyTorch's time (median of 2; 0.75 to 1.25), the library's default 1.50 (median of 1; 1.50 to 1.50)
  not measured by Spillway: 27 (res2b_branch2b backward_filter, res3b_branch2b forward, res3b_branch2b backward_data, ...)
  not measured by PyTorch: 26 (res3b_branch2b forward, res3b_branch2b backward_data, res3b_branch2b backward_filter, ...)
  NOT IN FP32 but by a kernel of TF32: 1 (res2b_branch2b backward_filter)
tf32: Spillway's fastest algorithm takes 1.25 of PyTorch's time (median of 1; 1.25 to 1.25), the library's default 1.25 (median of 1; 1.25 to 1.25)
  not measured by Spillway: 27 (res2b_branch2b backward_filter, res3b_branch2b forward, res3b_branch2b backward_data, ...)
  not measured by PyTorch: 27 (res2b_branch2b backward_filter, res3b_branch2b forward, res3b_branch2b backward_data, ...)
  failed in PyTorch: 1 (res2b_branch2b backward_data)
  computed by no kernel of TF32: 1 (res2b_branch2b forward)
fp16: Spillway's fastest algorithm takes 0.50 of PyTorch's time (median of 1; 0.50 to 0.50), the library's default 0.50 (median of 1; 0.50 to 0.50)
  not measured by Spillway: 28 (res2b_branch2b backward_data, res2b_branch2b backward_filter, res3b_branch2b forward, ...)
  not measured by PyTorch: 28 (res2b_branch2b backward_data, res2b_branch2b backward_filter, res3b_branch2b forward, ...)
  PyTorch's kernels not known: 1 (res2b_branch2b forward)
PyTorch 2.11 on H, CUDA 13.0, cuDNN 91200, of at most 10 ways to compute
Spillway on H, cuDNN 9.1.0
TEXT
export PYTHONPATH=$folder/absent
check "compares, without PyTorch" convolutions --compare samples.csv torch.csv
check "as expected" diff <(head -n -4 out) expected
check "and says what the columns are" grep -q '^best: ' out
grep -v ,tf32, torch.csv | sed 's/cuda:0,H,/cuda:0,V,/' >others.csv
check "another GPU, other rows" convolutions --compare others.csv samples.csv
check "which is said" grep -q '^NOT THE SAME GPU: V$' out
check "nothing in TF32" grep -q '^tf32: nothing that both have measured, so nothing is claimed$' out
check "the rest is the same" test "$(grep -c ' of PyTorch.s time ' out)" = 2
sed 's/,98,/,98.1.2,/' samples.csv >bad.csv
check "no number" refused "bad.csv: median_us: '98.1.2' is no time" --compare bad.csv torch.csv
check "a column of other name" refused "no column algorithm" --compare <(sed 1s/algorithm/algo/ samples.csv) torch.csv
check "an older file" refused "no column" --compare samples.csv <(sed 1s/set_bytes/bytes/ torch.csv)
check "only one half" refused "no rows of PyTorch among samples.csv" --compare samples.csv
check "two GPUs" refused "several GPUs or libraries: G with cuDNN 9.1.0, H with" \
  --compare samples.csv <(sed 's/^H,/G,/' samples.csv) torch.csv
check "something else" refused "other.csv: is neither a samples file nor written by torch_convolutions.py: no column" \
  --compare other.csv torch.csv
check "no file" refused "nowhere.csv: No such file" --compare nowhere.csv torch.csv
check "no bytecode is left" test ! -e "$source/calibrate/peers/__pycache__"
exit $failed
