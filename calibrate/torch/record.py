"""Records a training step of PyTorch as a graph that Spillway plans (model/recorded/README.md).

    python3 record.py transformer --batch 8 -o step.json        one of the two small networks below
    from record import record                                   any other, on any device

Every call that reaches the library under autograd is a node (TorchDispatchMode: forward, backward and the optimizer's alike),
timed by itself over several steps that must be alike, the median taken. Memory is what storages take: views are names of
what they view and no nodes; calls that write an operand are in place, whatever they are called. What a step finds there
when it begins is a value: the batch on the host, all else on the device. PyTorch 1.13 or later.
"""
import argparse
import datetime
import json
import math
import platform
import statistics
import sys
import time

import torch
from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

PASSES = ("forward", "backward", "update")
RANDOM = ("bernoulli", "dropout", "rand", "normal", "uniform", "exponential", "multinomial")
LEAST_ERROR = 0.02  # a repetition a moment later says little about another day


def storage_of(tensor):
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()


def bytes_of(tensor):
    storage = storage_of(tensor)
    return storage.nbytes()


def tensors_in(tree):
    return [leaf for leaf in tree_flatten(tree)[0] if isinstance(leaf, torch.Tensor)]


def written_by(function, args, kwargs):
    """The operands that a call overwrites, by its schema; but for running statistics, which are not updated twice."""
    written = []
    if "batch_norm" in str(function):
        return written
    for index, argument in enumerate(function._schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        value = kwargs.get(argument.name) if argument.name in kwargs or index >= len(args) else args[index]
        written += tensors_in(value)
    return written


class Recorder(TorchDispatchMode):
    """One step: nodes in order, each with the seconds it took."""

    def __init__(self, batch, device):
        super().__init__()
        self.phase = "forward"
        self.device = device
        self.nodes, self.seconds, self.values = [], [], []
        self._names = {}  # by storage: what it is called now
        self._alive = []  # keeps the addresses of storages that are gone from being used again
        for tensor in batch:
            self._new_value(tensor, "host")

    def _key(self, tensor):
        return storage_of(tensor)._cdata

    def _call(self, tensor, name):
        if self._key(tensor) not in self._names:
            self._alive.append(StorageWeakRef(storage_of(tensor)))
        self._names[self._key(tensor)] = name

    def _new_value(self, tensor, where):
        name = "value%d" % len(self.values)
        self.values.append({"id": name, "bytes": bytes_of(tensor), "where": where})
        self._call(tensor, name)
        return name

    def _name(self, tensor):
        return self._names.get(self._key(tensor)) or self._new_value(tensor, "device")

    def _wait(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function.namespace == "profiler":
            return function(*args, **kwargs)
        operands = tensors_in((args, kwargs))
        deps = list(dict.fromkeys(self._name(tensor) for tensor in operands))
        self._wait()
        begin = time.perf_counter()
        result = function(*args, **kwargs)
        self._wait()
        seconds = time.perf_counter() - begin
        written = written_by(function, args, kwargs)
        fresh = [tensor for tensor in tensors_in(result) if self._key(tensor) not in self._names]
        if written or fresh or not tensors_in(result):
            self._add(function, seconds, deps, written, fresh)
        return result

    def _add(self, function, seconds, deps, written, fresh):
        op = str(function)
        node = {"id": "%d:%s" % (len(self.nodes), op.replace("aten.", "")), "op": op, "pass": self.phase, "deps": deps,
                "results": []}
        if any(word in op for word in RANDOM) and "backward" not in op:
            node["recompute"] = False
        seen = set()
        for tensor in written + fresh:
            if self._key(tensor) in seen:
                continue
            seen.add(self._key(tensor))
            known = self._names.get(self._key(tensor))
            name = "%d.%d" % (len(self.nodes), len(node["results"]))
            node["results"].append({"id": name, "in_place": known} if known else {"id": name, "bytes": bytes_of(tensor)})
            self._call(tensor, name)
        self.nodes.append(node)
        self.seconds.append(seconds)


def one_step(batch, device, forward, update):
    recorder = Recorder(batch, device)
    with recorder:
        loss = forward(*batch)
        recorder.phase = "backward"
        loss.backward()
        recorder.phase = "update"
        update()
    return recorder


def shape_of(recorder):
    return [(node["op"], node["pass"], node["deps"], [tuple(r.items()) for r in node["results"]])
            for node in recorder.nodes]


def spread_of(times):
    """Of the sum of all nodes from one repetition to the next: the relative distance of a typical one from the median."""
    sums = sorted(sum(row) for row in times)
    middle = statistics.median(sums)
    return max(LEAST_ERROR, statistics.median(abs(math.log(total / middle)) for total in sums) * 1.4826)


def record(name, batch, forward, update, device="cpu", samples=None, warm_up=3, repetitions=9):
    """The step as a dict for json.dump. `batch`: a list of tensors on the device; forward(*batch) returns the loss, update()
    takes the optimizer's step and sets gradients to None. RuntimeError: the steps are not alike."""
    device = torch.device(device)
    runs = [one_step(batch, device, forward, update) for _ in range(warm_up + repetitions)][warm_up:]
    if any(shape_of(run) != shape_of(runs[0]) for run in runs):
        raise RuntimeError("steps of the same batch differ in their calls: record a part of them that does not")
    times = [run.seconds for run in runs]
    for index, node in enumerate(runs[0].nodes):
        node["ns"] = round(1e9 * statistics.median(row[index] for row in times))
    chip = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor() or platform.machine()
    where = "%s, PyTorch %s, %d threads, %s, median of %d steps" % (
        chip, torch.__version__, torch.get_num_threads(), datetime.date.today(), repetitions)
    return {"graph": name, "samples": samples or batch[0].shape[0], "source": {"measured": where},
            "error": round(spread_of(times), 3), "values": runs[0].values, "nodes": runs[0].nodes}


class Block(nn.Module):
    """Of a transformer: attention and two layers, each behind a layer norm and beside a shortcut."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(0.1)

    def attention(self, x):
        n, length, width = x.shape
        q, k, v = self.qkv(x).view(n, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(width // self.heads), -1)
        return self.out((self.dropout(weights) @ v).transpose(1, 2).reshape(n, length, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.narrow(nn.functional.gelu(self.wide(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self, words=1000, length=128, width=128, heads=4, blocks=4):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Parameter(torch.zeros(length, width))
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(blocks)])
        self.head = nn.Linear(width, words)

    def forward(self, x):
        return self.head(self.blocks(self.words(x) + self.places)).transpose(1, 2)


class Residual(nn.Module):
    def __init__(self, c_in, c_out, stride):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(c_in, c_out, 3, stride, 1, bias=False), nn.BatchNorm2d(c_out), nn.ReLU(inplace=True),
            nn.Conv2d(c_out, c_out, 3, 1, 1, bias=False), nn.BatchNorm2d(c_out))
        self.shortcut = nn.Identity() if stride == 1 and c_in == c_out else nn.Conv2d(c_in, c_out, 1, stride, bias=False)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        result = self.main(x)
        result += self.shortcut(x)
        return self.relu(result)


def resnet():
    layers = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True)]
    c_in = 16
    for c_out in (16, 32, 64):
        for index in range(3):
            layers.append(Residual(c_in, c_out, 2 if index == 0 and c_out > 16 else 1))
            c_in = c_out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


NETWORKS = {
    "transformer": (Transformer, lambda n: [torch.randint(0, 1000, (n, 128)), torch.randint(0, 1000, (n, 128))]),
    "resnet": (resnet, lambda n: [torch.randn(n, 3, 32, 32), torch.randint(0, 10, (n,))]),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("network", choices=sorted(NETWORKS))
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("-o", "--output")
    arguments = parser.parse_args()
    torch.manual_seed(1)
    make, draw = NETWORKS[arguments.network]
    network = make().to(arguments.device).train()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
    batch = [tensor.to(arguments.device) for tensor in draw(arguments.batch)]

    def forward(data, labels):
        return nn.functional.cross_entropy(network(data), labels)

    def update():
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    step = record("%s of PyTorch, batch %d" % (arguments.network, arguments.batch), batch, forward, update,
                  arguments.device)
    out = open(arguments.output, "w") if arguments.output else sys.stdout
    json.dump(step, out, indent=1)
    out.write("\n")


if __name__ == "__main__":
    main()
