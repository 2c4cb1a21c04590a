#!/usr/bin/env python3
"""What only a GPU can show of the carrier: allocator's peaks, overlap of copies, step times at three caps, and peers.

    python3 calibrate/torch/on_gpu.py --spillway build/spillway            needs CUDA; torchvision and
                                                                           dynamic-network-architectures for two networks
    python3 calibrate/torch/on_gpu.py --spillway build/spillway --small --device cpu    runs the script's own logic

Expected, written before any run on a GPU:
1. Losses equal those of plain training bit for bit, with deterministic algorithms. Where plain training run twice differs
   (sums by atomics: pooling and scaling of volumes, losses of images) nothing is expected, and the row says so.
2. max_memory_allocated is at most the plan's capacity, and within 5 % of the predicted peak. max_memory_reserved is at most
   15 % above it: the carrier allocates on one stream, and leaves holes only where sizes differ.
3. At 75 % of the peak a step takes at most 5 % more than plain: copies overlap with kernels by 80 % of their time. At 50 %
   at most 20 % more, at 35 % at most 60 % more or a refusal.
4. save_on_cpu takes at least twice the plain step, since its copies wait. checkpoint of each block takes 25 to 40 % more,
   and at the peak it reaches a plan takes at most as long.
5. The predicted step is within 15 % of the measured one in every planned row.
Each row says which of these it breaks.
"""
import argparse
import contextlib
import gc
import json
import os
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it products are not deterministic

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import example  # noqa: E402

CAPS = (0.75, 0.5, 0.35)  # of the plain peak
STEPS = 6
LEFT_BEHIND = 64 << 20  # bytes: workspaces of libraries stay


def resnet50(small):
    import torchvision
    network = torchvision.models.resnet50(num_classes=100)
    n, size = (2, 64) if small else (256, 224)
    blocks = [block for part in (network.layer1, network.layer2, network.layer3, network.layer4) for block in part]
    return network, blocks, [torch.randn(n, 3, size, size), torch.randint(0, 100, (n,))], F.cross_entropy


def unet3d(small):
    network, size = example.UNet3d(8 if small else 32), 16 if small else 160
    blocks = [*network.down, network.bottom, *network.up]
    return network, blocks, [torch.randn(1, 1, size, size, size), torch.randint(0, 2, (1, size, size, size))], F.cross_entropy


def nnunet(small):
    """nnU-Net's residual encoder with deep supervision, at its own patch for a card of 24 GB."""
    from dynamic_network_architectures.architectures.unet import ResidualEncoderUNet
    widths, size = ((8, 16, 32), 32) if small else ((32, 64, 128, 256, 320, 320), 160)
    stages = len(widths)
    network = ResidualEncoderUNet(
        1, stages, widths, nn.Conv3d, 3, (1,) + (2,) * (stages - 1), (1, 3, 4, 6, 6, 6)[:stages], 2, (1,) * (stages - 1),
        conv_bias=True, norm_op=nn.InstanceNorm3d, norm_op_kwargs={"affine": True}, nonlin=nn.LeakyReLU,
        nonlin_kwargs={"inplace": True}, deep_supervision=True)

    def loss(results, labels):
        total = 0
        for index, result in enumerate(results):
            scaled = F.interpolate(labels[:, None].float(), result.shape[2:]).long()[:, 0]
            total = total + F.cross_entropy(result, scaled) / 2 ** index
        return total

    blocks = [*network.encoder.stages, *network.decoder.stages]
    return network, blocks, [torch.randn(2, 1, size, size, size), torch.randint(0, 2, (2, size, size, size))], loss


NETWORKS = {"ResNet-50": resnet50, "3-D U-Net": unet3d, "nnU-Net": nnunet}


class Trainer:
    """A network in training; `inside` is entered around forward."""

    def __init__(self, make, device, small, checkpoints=False):
        torch.manual_seed(1)
        self.network, blocks, batch, self.loss = make(small)
        self.network.train().to(device)
        self.batch = [part.to(device) for part in batch]
        self.optimizer = torch.optim.AdamW(self.network.parameters(), 1e-3, foreach=False)
        for block in blocks if checkpoints else ():
            plain = block.forward
            block.forward = lambda *x, plain=plain: example.checkpointed(plain, *x)

    def forward(self, data, labels):
        return self.loss(self.network(data), labels)

    def update(self):
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def step(self, around, inside):
        with around or contextlib.nullcontext():
            with inside or contextlib.nullcontext():
                loss = self.forward(*self.batch)
            loss.backward()
        self.update()
        return loss


def cleared(device):
    """Bytes that are still taken once everything is given back: patched blocks, for one, stand in circles."""
    gc.collect()
    if device.type != "cuda":
        return 0
    torch.cuda.empty_cache()  # else what others reserved counts as this one's
    return torch.cuda.memory_allocated(device)


class Run:
    """Some steps: losses, median seconds, the allocator's peaks, the share of copies under kernels.

    `make()` gives the trainer: nothing of the runs before is left by then.
    """

    def __init__(self, make, device, around=None, inside=None):
        cuda = device.type == "cuda"
        self.left_behind = cleared(device)
        self.losses, seconds, trainer = [], [], make()
        for number in range(STEPS):
            if cuda:
                torch.cuda.synchronize(device)
                if number == 1:  # the first step makes the optimizer's states
                    torch.cuda.empty_cache()
                    torch.cuda.reset_peak_memory_stats(device)
            begin = time.perf_counter()
            self.losses.append(trainer.step(around, inside).item())
            if cuda:
                torch.cuda.synchronize(device)
            seconds.append(time.perf_counter() - begin)
        self.seconds = statistics.median(seconds[1:])
        self.allocated = torch.cuda.max_memory_allocated(device) if cuda else 0
        self.reserved = torch.cuda.max_memory_reserved(device) if cuda else 0
        self.overlap = overlap_of(lambda: trainer.step(around, inside)) if cuda else None


def overlap_of(step):
    """Share of the copies' time during which a kernel runs; None without copies."""
    kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=kinds) as profile:
        step()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profile.export_chrome_trace(path)
        with open(path) as file:
            events = [event for event in json.load(file)["traceEvents"] if event.get("ph") == "X"]
    kernels = merged((e["ts"], e["ts"] + e["dur"]) for e in events if e.get("cat") == "kernel")
    copies = [(e["ts"], e["ts"] + e["dur"]) for e in events
              if e.get("cat") == "gpu_memcpy" and ("HtoD" in e["name"] or "DtoH" in e["name"])]
    total = sum(end - begin for begin, end in copies)
    under = sum(max(0, min(end, last) - max(begin, first)) for begin, end in copies for first, last in kernels)
    return under / total if total else None


def merged(spans):
    joined = []
    for begin, end in sorted(spans):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((begin, end))
    return joined


class Table:
    def __init__(self):
        self.plain, self.failed, self.alike = None, False, True
        print("| network | way | step, ms | of plain | predicted, ms | allocated, GB | reserved, GB | cap, GB | copies under kernels | "
              "not as expected |\n|---|---|--:|--:|--:|--:|--:|--:|--:|---|")

    def row(self, name, way, run, plan=None, most=None):
        """`most`: what the step may take, in plain steps."""
        wrong = [] if run.losses == self.plain.losses else ["1: other losses" if self.alike else "plain losses differ too"]
        wrong += ["%.2f GB of other runs" % (run.left_behind / 1e9)] if run.left_behind > LEFT_BEHIND else []
        ratio, cap = run.seconds / self.plain.seconds, plan["capacity_bytes"] if plan else 0
        predicted = plan["step_time_ns"] / 1e9 if plan else 0
        if plan and run.allocated:
            wrong += ["2: above the cap"] if run.allocated > cap else []
            wrong += ["2: 5 % off the predicted peak"] if abs(run.allocated / plan["peak_bytes"] - 1) > 0.05 else []
            wrong += ["2: reserved"] if run.reserved > 1.15 * plan["peak_bytes"] else []
            wrong += ["5: predicted step"] if abs(run.seconds / predicted - 1) > 0.15 else []
            wrong += ["3: overlap"] if run.overlap is not None and run.overlap < 0.8 and most == 1.05 else []
        if most and run.allocated and ratio > most:
            wrong.append("3, 4: slower than %.2f" % most)
        print("| %s | %s | %.1f | %.2f | %s | %.2f | %.2f | %s | %s | %s |" % (
            name, way, run.seconds * 1e3, ratio, "%.1f" % (predicted * 1e3) if plan else "", run.allocated / 1e9,
            run.reserved / 1e9, "%.2f" % (cap / 1e9) if plan else "", "" if run.overlap is None else "%.0f %%" % (100 * run.overlap),
            "; ".join(wrong)), flush=True)
        self.failed = self.failed or "1: other losses" in wrong


def network_rows(table, carried, name, make, arguments, folder):
    device = torch.device(arguments.device)

    def trainer(**how):
        return lambda: Trainer(make, device, arguments.small, **how)

    recorded = trainer()()
    step = os.path.join(folder, "step.json")
    with open(step, "w") as file:
        json.dump(carried.record(recorded.forward, recorded.batch, recorded.update, name=name), file)
    del recorded
    whole = example.in_core(arguments.spillway, step, os.path.join(folder, "plan.json"))
    taken = example.LARGE - whole["capacity_bytes"]
    table.plain, again = Run(trainer(), device), Run(trainer(), device)
    table.alike = again.losses == table.plain.losses
    table.row(name, "plain", table.plain)
    peer = Run(trainer(checkpoints=True), device)
    table.row(name, "checkpoint of each block", peer)
    table.row(name, "save_on_cpu", Run(trainer(), device, inside=torch.autograd.graph.save_on_cpu(pin_memory=device.type == "cuda")))
    wanted = [("%.0f %%" % (100 * cap), cap * whole["peak_bytes"], most) for cap, most in zip(CAPS, (1.05, 1.2, 1.6))]
    wanted.append(("the checkpoints' peak", peer.allocated, peer.seconds / table.plain.seconds))
    for label, memory, most in wanted:
        planned(table, carried, name, label, int(taken + memory), most, trainer, device, arguments, step)


def planned(table, carried, name, label, memory, most, trainer, device, arguments, step):
    out = step + ".plan"
    command = [arguments.spillway, "plan", step, "--memory", "%d B" % memory, "--margin", "0", "--for", "torch", "-o", out]
    command += ["--link", "12GB/s"] if device.type == "cpu" else []
    done = example.subprocess.run(command, stdout=example.subprocess.PIPE, stderr=example.subprocess.PIPE, text=True)
    if done.returncode:
        print("| %s | planned for %s | refused: %s | | | | | | | |" % (name, label, done.stderr.strip().split("\n")[-1]))
        return
    with open(out) as file:
        plan = json.load(file)
    carrier = carried.apply(plan, device=str(device))
    table.row(name, "planned for " + label, Run(trainer(), device, around=carrier), plan, most)
    print(carrier.report().split("\n")[-1], file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("network", nargs="*", help="of: " + ", ".join(NETWORKS))
    parser.add_argument("--spillway", default="spillway", help="the program")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true", help="sizes for a processor")
    arguments = parser.parse_args()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        sys.exit("on_gpu.py: no CUDA here; --small --device cpu runs the script's own logic")
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.benchmark = False
    table = Table()
    with tempfile.TemporaryDirectory() as folder:
        example.subprocess.run([sys.executable, os.path.join(HERE, "join.py"), "-o", os.path.join(folder, "spillway_torch.py")],
                               check=True)
        sys.path.insert(0, folder)
        import spillway_torch
        for name in arguments.network or NETWORKS:
            try:
                network_rows(table, spillway_torch, name, NETWORKS[name], arguments, folder)
            except ImportError as error:
                print("left out: %s: %s" % (name, error))
    sys.exit(table.failed)


if __name__ == "__main__":
    main()
