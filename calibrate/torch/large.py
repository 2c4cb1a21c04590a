#!/usr/bin/env python3
"""Steps that do not fit 24 GB, recorded without memory and planned for three cards: a table for README.md.

    calibrate/torch/large.py --spillway build/spillway [--out FOLDER] [--limit SECONDS] [--timed] [--again] [STEP...]

Each step is recorded in a process of its own, whose memory is then known. A recording that lies in FOLDER is taken as it
is, unless --again. --timed: three of them with each distinct call timed alone, by one thread's time on the processor,
since other programs may run beside it. A plan that takes longer than --limit is
given up, and its cell says so. Packages: calibrate/torch/environment.sh --zoo, and diffusers.
"""
import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import types
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
CARDS = (("24GB", "rtx-4090"), ("40GB", "a100-pcie-40"), ("80GB", "a100-pcie-80"))
NO_LIMIT = "4TB"


def images(torch, samples, size=224):
    return [torch.randn(samples, 3, size, size), torch.randint(0, 1000, (samples,))]


def classified(torch, network, batch):
    return network, batch, lambda net, x, to: torch.nn.functional.cross_entropy(net(x), to)


def of_torchvision(name, samples):
    def make(torch):
        import torchvision
        return classified(torch, getattr(torchvision.models, name)(), images(torch, samples))
    return make


def of_transformers(name, samples, length, on="cpu", **more):
    def make(torch):
        import transformers
        head = {"GPT2": "LMHeadModel", "Llama": "ForCausalLM"}[name]
        with torch.device(on):
            config = getattr(transformers, name + "Config")(use_cache=False, **more)
            network = getattr(transformers, name + head)(config)
        words = torch.randint(0, 1000, (samples, length))
        return network, [words, words.clone()], lambda net, x, to: net(input_ids=x, labels=to).loss
    return make


def nnunet(torch):
    """As nnU-Net plans large volumes: six stages, 32 features to 320."""
    from torch import nn
    from dynamic_network_architectures.architectures.unet import PlainConvUNet
    network = PlainConvUNet(1, 6, (32, 64, 128, 256, 320, 320), nn.Conv3d, 3, (1, 2, 2, 2, 2, 2), 2, 3, 2, conv_bias=True,
                            norm_op=nn.InstanceNorm3d, norm_op_kwargs={"affine": True}, nonlin=nn.LeakyReLU,
                            nonlin_kwargs={"inplace": True}, deep_supervision=True)
    batch = [torch.randn(2, 1, 192, 192, 192), torch.randint(0, 3, (2, 1, 192, 192, 192))]

    def loss(net, x, to):
        pool = nn.functional.interpolate
        made = net(x)
        return sum(nn.functional.cross_entropy(each, pool(to.float(), each.shape[2:]).long()[:, 0]) for each in made)
    return network, batch, loss


def swin(samples):
    def make(torch):
        from monai import losses, networks
        dice = losses.DiceCELoss(to_onehot_y=True, softmax=True)

        def batch(count, size):
            return [torch.randn(count, 1, size, size, size), torch.randint(0, 2, (count, 1, size, size, size))]
        network = networks.nets.SwinUNETR(in_channels=1, out_channels=2, feature_size=48)
        return network, batch(samples, 128), lambda net, x, to: dice(net(x), to), batch(1, 64)
    return make


def diffusion(torch):
    """Stable Diffusion's U-Net at 512 x 512 pixels."""
    from diffusers import UNet2DConditionModel
    with torch.device("meta"):
        network = UNet2DConditionModel(cross_attention_dim=768)
    batch = [torch.randn(64, 4, 64, 64), torch.randint(0, 1000, (64,)), torch.randn(64, 77, 768)]
    return network, batch, lambda net, x, t, text: net(x, t, text).sample.square().mean()


def cells(torch):
    """Two layers of LSTM cells over 660 moments, by a loop of Python: some 50,000 calls."""
    nn = torch.nn

    class Cells(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.head = nn.LSTMCell(128, 1024), nn.LSTMCell(1024, 1024), nn.Linear(1024, 10)

        def forward(self, x):
            one = two = None
            for moment in x.unbind(1):
                one = self.first(moment, one)
                two = self.second(nn.functional.dropout(one[0], 0.1), two)
            return self.head(two[0])
    return classified(torch, Cells(), [torch.randn(1024, 660, 128), torch.randint(0, 10, (1024,))])


XL = {"n_layer": 48, "n_embd": 1600, "n_head": 25, "n_positions": 1024}
LLAMA = {"vocab_size": 128256, "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16,
         "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64, "tie_word_embeddings": True}
STEPS = {
    "GPT-2 124M, 16 x 1,024 tokens": of_transformers("GPT2", 16, 1024),
    "nnU-Net, 192 cubed, batch 2": nnunet,
    "SwinUNETR, 128 cubed, batch 1": swin(1),
    "SwinUNETR, 128 cubed, batch 2": swin(2),
    "ResNet-50, batch 512": of_torchvision("resnet50", 512),
    "Stable Diffusion U-Net, batch 64": diffusion,
    "GPT-2 1.5B, 8 x 1,024 tokens": of_transformers("GPT2", 8, 1024, "meta", **XL),
    "DenseNet-121, batch 256": of_torchvision("densenet121", 256),
    "ViT-B/16, batch 256": of_torchvision("vit_b_16", 256),
    "ConvNeXt-T, batch 256": of_torchvision("convnext_tiny", 256),
    "Llama 3.2 1B, 2 x 4,096 tokens": of_transformers("Llama", 2, 4096, "meta", **LLAMA),
    "LSTM cells, 660 moments, batch 1,024": cells,
}
TIMED = ["LSTM cells, 660 moments, batch 1,024", "ConvNeXt-T, batch 256", "ViT-B/16, batch 256"]


def record_one(name, timed, path):
    """In a process of its own: the recording, and what it cost."""
    import torch
    import spillway_torch
    from spillway_torch import record
    warnings.filterwarnings("ignore")
    spillway_torch.time = types.SimpleNamespace(**dict(vars(time), perf_counter=time.thread_time))
    torch.manual_seed(1)
    network, batch, loss, *small = STEPS[name](torch)
    network.train()
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4)

    def update():
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    begun = time.process_time()
    step = record(lambda *words: loss(network, *words), batch, update, how="calls", name=name,
                  times="measured" if timed else None, small=small[0] if small else None)
    step["cost"] = {"seconds": time.process_time() - begun,
                    "bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}
    cost = step.pop("cost")
    with open(path + ".cost", "w") as file:
        json.dump(cost, file)
    with open(path, "w") as file:
        json.dump(step, file)


def file_of(folder, name, timed):
    return os.path.join(folder, re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower() + ("-timed" if timed else "") + ".json")


def recorded(name, timed, arguments):
    """(the step, its cost, its file), recorded unless it lies there."""
    path = file_of(arguments.out, name, timed)
    if arguments.again or not os.path.exists(path):
        words = [sys.executable, os.path.abspath(__file__), "--one", name, "--file", path] + ["--timed"] * timed
        environment = dict(os.environ, PYTHONPATH=arguments.out)
        subprocess.run(words, check=True, env=environment, stdout=subprocess.DEVNULL)
    with open(path) as file, open(path + ".cost") as cost:
        return json.load(file), json.load(cost), path


def said(words, limit):
    """(exit status, both outputs), or (None, "") when time is over."""
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit)
        return done.returncode, done.stdout.decode()
    except subprocess.TimeoutExpired:
        return None, ""


def seconds_of_plan(path, memory, machine, samples, arguments):
    """(seconds of the best plan's step, or None, and why there is none)."""
    words = [arguments.spillway, "plan", path, "--memory", memory, "--machine", machine, "-o", path + ".plan.yaml"]
    status, text = said(words, arguments.limit)
    rate = re.search(r"with ([0-9.e+]+) samples/s", text)
    if rate:
        return samples / float(rate.group(1)), ""
    return None, "over %d s" % arguments.limit if status is None else "no plan" if status == 3 else "status %s" % status


def gigabytes(text, key):
    """What `spillway show step` says behind `key`."""
    found = re.search(key + r":\s+([0-9.]+) (k|M|G|T)?B", text)
    return float(found.group(1)) * {"k": 1e-6, "M": 1e-3, "G": 1.0, "T": 1e3, None: 1e-9}[found.group(2)] if found else None


def cell(path, memory, machine, samples, resident, least, arguments):
    """The best plan's step on one card, and how much longer than with all memory."""
    if resident > 0.9 * float(memory[:-2]):
        return "weights and states alone exceed it"
    best, why = seconds_of_plan(path, memory, machine, samples, arguments)
    if best is None:
        return why + (", by `least`" if why == "no plan" and least is not None and least > float(memory[:-2]) else "")
    plain, _ = seconds_of_plan(path, NO_LIMIT, machine, samples, arguments)
    return "%.2f s" % best + (" (%+.0f %%)" % (100 * (best / plain - 1)) if plain else "")


def row(name, timed, machines, arguments):
    step, cost, path = recorded(name, timed, arguments)
    resident = sum(value["bytes"] for value in step["values"] if value.get("class") != "batch") / 1e9
    _, shown = said([arguments.spillway, "show", "step", path], arguments.limit)
    peak = gigabytes(shown, "peak with everything on the device")
    least = gigabytes(shown, "the least that any plan with parameters and states on the device can need")
    told = ["%s" % name + (", timed" if timed else ""), "{:,}".format(len(step["nodes"])), "%.0f" % cost["seconds"],
            "%.1f" % (cost["bytes"] / 1e9)]
    told += ["%.1f" % number if number is not None else "?" for number in (peak, least, resident)]
    told += [cell(path, memory, machines[chip], step["samples"], resident, least, arguments) for memory, chip in CARDS]
    print("| " + " | ".join(told) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spillway", default="build/spillway")
    parser.add_argument("--out")
    parser.add_argument("--limit", type=float, default=120)
    parser.add_argument("--timed", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    parser.add_argument("steps", nargs="*")
    arguments = parser.parse_args()
    if arguments.one:
        return record_one(arguments.one, arguments.timed, arguments.file)
    wrong = [name for name in arguments.steps if name not in STEPS]
    if wrong:
        sys.exit("large.py: no step '%s': %s" % (wrong[0], "; ".join(STEPS)))
    arguments.out = os.path.abspath(arguments.out or tempfile.mkdtemp())
    arguments.spillway = os.path.abspath(arguments.spillway)
    os.makedirs(arguments.out, exist_ok=True)
    subprocess.run([sys.executable, os.path.join(HERE, "join.py"), "-o", os.path.join(arguments.out, "spillway_torch.py")],
                   check=True)
    machines = {}
    for _, chip in CARDS:
        machines[chip] = os.path.join(arguments.out, chip + ".yaml")
        subprocess.run([arguments.spillway, "machine", "--chip", chip, "--host-memory", "512GB", "--like", "a100-pcie4",
                        "-o", machines[chip]], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print("| step | calls | s | process, GB | peak, GB | least, GB | resident, GB | %s |" %
          " | ".join("%s, %s" % (chip, memory) for memory, chip in CARDS))
    print("|---" + "|--:" * (6 + len(CARDS)) + "|")
    for name in arguments.steps or (TIMED if arguments.timed else STEPS):
        try:
            row(name, arguments.timed, machines, arguments)
        except subprocess.CalledProcessError as error:
            print("%s: status %d" % (name, error.returncode), flush=True)


if __name__ == "__main__":
    main()
