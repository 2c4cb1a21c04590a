#!/usr/bin/env python3
"""A small network trained plainly, with torch.utils.checkpoint around each block, and under plans; all are compared.

    python3 calibrate/torch/example.py unet3d --spillway build/spillway
    python3 calibrate/torch/example.py gpt --spillway build/spillway
    python3 -m spillway.torch.example gpt                               # of the package, which has the program

One plan is for the peak that the checkpoints reach, the other for two thirds of what training adds to the weights. It takes
a minute on any machine with PyTorch. The steps are those of a user: record, plan, apply.
"""
import argparse
import contextlib
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = 4
SHARE = 2 / 3  # of the bytes that are neither weights nor states
LARGE = 1 << 40  # bytes of a card that holds any step

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402


def at_once(part, *inputs):
    return part(*inputs)


def checkpointed(part, *inputs):
    """The peer: keeps a block's inputs and runs the block again in backward."""
    return checkpoint(part, *inputs, use_reentrant=False)


class UNet3d(nn.Module):
    """Two levels of a U-Net over volumes, as in segmentation."""

    def __init__(self, width=8):
        super().__init__()
        self.down = nn.ModuleList([self.block(1, width), self.block(width, 2 * width)])
        self.bottom = self.block(2 * width, 4 * width)
        self.up = nn.ModuleList([self.block(6 * width, 2 * width), self.block(3 * width, width)])
        self.head, self.run = nn.Conv3d(width, 2, 1), at_once

    @staticmethod
    def block(c_in, c_out):
        return nn.Sequential(nn.Conv3d(c_in, c_out, 3, padding=1), nn.InstanceNorm3d(c_out, affine=True),
                             nn.LeakyReLU(0.01, inplace=True), nn.Conv3d(c_out, c_out, 3, padding=1),
                             nn.InstanceNorm3d(c_out, affine=True), nn.LeakyReLU(0.01, inplace=True))

    def forward(self, x):
        skips = []
        for down in self.down:
            x = self.run(down, x)
            skips.append(x)
            x = F.max_pool3d(x, 2)
        x = self.run(self.bottom, x)
        for up in self.up:
            x = self.run(up, torch.cat([F.interpolate(x, scale_factor=2), skips.pop()], 1))
        return self.head(x)


class Gpt(nn.Module):
    """A small language model: attention written out, dropout, shortcuts."""

    def __init__(self, words=512, width=128, heads=4, blocks=4, length=128):
        super().__init__()
        self.heads, self.words = heads, nn.Embedding(words, width)
        self.places = nn.Parameter(torch.zeros(length, width))
        self.blocks = nn.ModuleList([nn.ModuleDict({
            "norm": nn.LayerNorm(width), "qkv": nn.Linear(width, 3 * width), "out": nn.Linear(width, width),
            "norm2": nn.LayerNorm(width), "wide": nn.Linear(width, 4 * width), "narrow": nn.Linear(4 * width, width)})
            for _ in range(blocks)])
        self.head, self.run = nn.Linear(width, words), at_once

    def attention(self, block, x):
        n, length, width = x.shape
        q, k, v = block["qkv"](x).view(n, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        weights = F.dropout(torch.softmax(q @ k.transpose(-2, -1) / (width // self.heads) ** 0.5, -1), 0.1)
        return block["out"]((weights @ v).transpose(1, 2).reshape(n, length, width))

    def forward(self, x):
        x = self.words(x) + self.places
        for block in self.blocks:
            x = self.run(lambda x, block=block: self.block(block, x), x)
        return self.head(x).transpose(1, 2)

    def block(self, block, x):
        x = x + self.attention(block, block["norm"](x))
        return x + block["narrow"](F.gelu(block["wide"](block["norm2"](x))))


EXAMPLES = {
    "unet3d": (UNet3d, lambda: [torch.randn(1, 1, 48, 48, 48), torch.randint(0, 2, (1, 48, 48, 48))]),
    "gpt": (Gpt, lambda: [torch.randint(0, 512, (8, 128)), torch.randint(0, 512, (8, 128))]),
}


def trainer(name, run=at_once):
    """(network, forward, update, batch), the same each time. `run`: how a block is run."""
    make, draw = EXAMPLES[name]
    torch.manual_seed(1)
    network = make().train()
    network.run = run
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.001, foreach=False)

    def forward(data, labels):
        return F.cross_entropy(network(data), labels)

    def update():
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return network, forward, update, draw()


def trained(name, carrier=None, run=at_once):
    """(losses, parameters and buffers, median seconds of a step)."""
    network, forward, update, batch = trainer(name, run)
    losses, seconds = [], []
    for _ in range(STEPS):
        begin = time.perf_counter()
        with carrier or contextlib.nullcontext():
            loss = forward(*batch)
            loss.backward()
        update()
        losses.append(loss.item())
        seconds.append(time.perf_counter() - begin)
    return losses, network.state_dict(), sorted(seconds)[STEPS // 2]


def plan_of(program, step, memory, out):
    command = [program, "plan", step, "--memory", "%d B" % memory, "--margin", "0", "--link", "4GB/s", "--for", "torch", "-o", out]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def in_core(program, step, out):
    """The plan of a step that has all the memory that it wants."""
    done = plan_of(program, step, LARGE, out)
    if done.returncode:
        sys.exit(done.stderr)
    with open(out) as file:
        return json.load(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("example", choices=sorted(EXAMPLES))
    parser.add_argument("--spillway", default=own_program(), help="the program")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        compare(arguments.example, arguments.spillway, folder)


def own_program():
    """That of the package, where this file is a part of it."""
    if not __package__:
        return "spillway"
    from spillway.program_here import program
    return program()


def joined(folder):
    """Recorder and carrier as one module: the package's, or made anew."""
    if __package__:
        return importlib.import_module(__package__)
    subprocess.run([sys.executable, os.path.join(HERE, "join.py"), "-o", os.path.join(folder, "spillway_torch.py")], check=True)
    sys.path.insert(0, folder)
    return importlib.import_module("spillway_torch")


def compare(name, program, folder):
    spillway_torch = joined(folder)
    step, out = os.path.join(folder, "step.json"), os.path.join(folder, "plan.json")
    _, forward, update, batch = trainer(name)
    with open(step, "w") as file:
        json.dump(spillway_torch.record(forward, batch, update, name=name, repetitions=3), file)
    whole = in_core(program, step, out)
    resident = sum(value["bytes"] for value in whole["values"])
    # The optimizer's states lie beside a context of forward and backward, which does not see them; a card has to hold them.
    states = sum(value["bytes"] for value in whole["values"] if value.get("class") == "state")
    plain = Measured(spillway_torch, name, whole, states)
    peer = Measured(spillway_torch, name, whole, states, checkpointed)
    rows = [("plain", plain), ("checkpoint of each block", peer)]
    taken = LARGE - whole["capacity_bytes"]  # of a card, by context and workspace
    wanted = [("planned for the checkpoints' peak", peer.peak), ("planned for %.0f %%" % (100 * SHARE), int(
        resident + SHARE * (whole["peak_bytes"] - resident)))]
    for label, memory in wanted:
        done = plan_of(program, step, taken + memory, out)
        if done.returncode:
            print("%s: %s" % (label, done.stderr.strip().split("\n")[-1]))
            continue
        with open(out) as file:
            rows.append((label, Measured(spillway_torch, name, json.load(file), states)))
    show(name, rows)


class Measured:
    """Training under a plan: what it computes, the peak as counted, seconds of a step."""

    def __init__(self, spillway_torch, name, plan, states, run=at_once):
        counting = spillway_torch.apply(plan, device="cpu", count=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a checkpoint's own hooks, which are said
            self.losses, self.state, _ = trained(name, counting, run)
        self.peak = states + max(context["counted_peak_bytes"] for context in counting.account.contexts)
        moves = any(plan["before"].values())
        self.seconds = trained(name, spillway_torch.apply(plan, device="cpu") if moves else None, run)[2]
        self.plan = plan if run is at_once else None


def show(name, rows):
    first = rows[0][1]
    equal = all(row.losses == first.losses and all(torch.equal(first.state[key], row.state[key]) for key in first.state)
                for _, row in rows)
    print("%s, PyTorch %s, %d steps; losses and parameters %s" % (
        name, torch.__version__, STEPS, "are equal bit for bit" if equal else "DIFFER"))
    for label, row in rows:
        predicted = "" if row.plan is None else "; predicted %.1f MB, %.0f ms" % (
            row.plan["peak_bytes"] / 1e6, row.plan["step_time_ns"] / 1e6)
        print("%-34s peak %6.1f MB counted, step %6.0f ms measured%s" % (label, row.peak / 1e6, row.seconds * 1e3, predicted))
    sys.exit(not equal)


if __name__ == "__main__":
    main()
