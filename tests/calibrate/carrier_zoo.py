"""Networks from their own packages, trained under plans: equal to plain training bit for bit, or refused for a reason.

    PYTHONPATH=FOLDER_OF_SPILLWAY_TORCH SPILLWAY=PROGRAM python3 tests/calibrate/carrier_zoo.py [NETWORK...]

Deep tier: torch_record_test.sh runs it where the packages are (calibrate/torch/environment.sh --zoo). Each network of
torch_zoo.py, most with larger inputs, is recorded once and planned for two memory sizes at two rates of the link; then it takes three steps with
AdamW. A network whose package is absent is left out by name. Exit status 1: other numbers, a counted peak above the cap, a
call above its predicted bytes, a call that leaves the recording, or a program that fails for a reason of its own.
"""
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time

import torch

import spillway_torch
import torch_zoo
from torch_zoo import ZOO, Step, mixed, of_monai, of_timm, of_torchvision, of_transformers

PROGRAM = os.environ["SPILLWAY"]
STEPS = 3
LARGE = 1 << 40              # bytes of a card that holds any step
SHARES = (0.6, 0.35)         # of what a step adds to the resident bytes
RATES = (3.0, 0.3)           # links that move what a step adds so often in its time
LIMIT = 240                  # seconds that a plan may take
NOTHING_FITS = 3             # exit status of the program


def of_diffusers():
    from diffusers import UNet2DModel
    network = UNet2DModel(32, 3, 3, block_out_channels=(32, 64), layers_per_block=1, norm_num_groups=8,
                          down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"))
    batch = [torch.randn(8, 3, 32, 32), torch.randint(0, 1000, (8,)), torch.randn(8, 3, 32, 32)]
    return network, batch, lambda net, x, when, noise: torch.nn.functional.mse_loss(net(x, when).sample, noise)


# Inputs large enough that maps weigh more than the states and temporaries of AdamW; and networks more.
GPT = dict(torch_zoo.GPT, n_positions=128)
ZOO.update({
    "timm ResNet-50": lambda: of_timm("resnet50", 8, 128),
    "timm ConvNeXt": lambda: of_timm("convnext_atto", 8, 96),
    "timm EfficientNet-B0": lambda: of_timm("efficientnet_b0", 8, 96),
    "timm ViT": lambda: of_timm("vit_tiny_patch16_224", 8, 128, img_size=128),
    "timm Swin": lambda: of_timm("swin_tiny_patch4_window7_224", 4, 224, depths=(1, 1, 1, 1)),
    "timm Inception-v3": lambda: of_timm("inception_v3", 8, 160),
    "timm ResNet-18, bf16": lambda: mixed(of_timm("resnet18", 8, 128)),
    "torchvision DenseNet-121": lambda: of_torchvision("densenet121", 8, 96),
    "torchvision MobileNet-v3": lambda: of_torchvision("mobilenet_v3_small", 16, 128),
    "torchvision RegNet": lambda: of_torchvision("regnet_y_400mf", 8, 96),
    "GPT-2": lambda: of_transformers("GPT2", 128, 8, **GPT),
    "GPT-2, eager attention": lambda: of_transformers("GPT2", 128, 8, attn_implementation="eager", **GPT),
    "GPT-2, checkpointed": lambda: of_transformers("GPT2", 128, 8, checkpointed=True, **GPT),
    "GPT-2, bf16": lambda: mixed(of_transformers("GPT2", 128, 8, **GPT)),
    "Llama": lambda: of_transformers("Llama", 128, 8, **torch_zoo.LLAMA),
    "BERT": lambda: of_transformers("Bert", 128, 8, **torch_zoo.BERT),
    "MONAI SegResNet, dropout": lambda: of_monai("SegResNet", 1, 48, init_filters=8, dropout_prob=0.2),
    "diffusers U-Net": of_diffusers,
})


class Trained(Step):
    """A network after some steps, and all numbers on the way."""

    def __init__(self, name, carrier=None):
        super().__init__(name)
        self.found = []
        for _ in range(STEPS):
            with carrier or contextlib.nullcontext():
                loss = self.forward(*self.batch)
                loss.backward()
            self.found.append(loss.detach().clone())
            self.found += [p.grad.clone() for p in self.network.parameters() if p.grad is not None]
            del loss
            self.update()
        self.found += [value for value in self.network.state_dict().values() if isinstance(value, torch.Tensor)]
        self.found += [value for state in self.optimizer.state.values() for value in state.values()]

    def same(self, other):
        return len(self.found) == len(other.found) and all(torch.equal(a, b) for a, b in zip(self.found, other.found))


class Asked:
    """A recording and the program's plans for it."""

    def __init__(self, file):
        self.file, self.out = file, file + ".plan"
        with open(file) as text:
            self.recording = json.load(text)
        self.whole, _ = self.plan(LARGE, "4GB/s")
        self.taken = LARGE - self.whole["capacity_bytes"]  # of a card, by context and workspace
        self.resident = sum(value["bytes"] for value in self.recording["values"])
        self.added = self.whole["peak_bytes"] - self.resident
        self.ns = sum(node["ns"] for node in self.recording["nodes"])
        called = {dep for node in self.recording["nodes"] if node["pass"] != "update" for dep in node["deps"]}
        # What the optimizer alone reads stays resident beside a context of forward and backward, which never sees it.
        self.beside = sum(value["bytes"] for value in self.recording["values"] if value["id"] not in called)

    def plan(self, memory, link):
        """(the plan's content, None), or (None, why there is none)."""
        if os.path.exists(self.out):
            os.remove(self.out)
        command = [PROGRAM, "plan", self.file, "--memory", "%d B" % memory, "--margin", "0", "--link", link,
                   "--for", "torch", "-o", self.out]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            return None, "not planned in %d s" % LIMIT
        if done.returncode == NOTHING_FITS:
            return None, reason(done.stderr)
        if done.returncode:
            raise RuntimeError("spillway plan: exit status %d: %s" % (done.returncode, done.stderr.strip()))
        with open(self.out) as file:
            return json.load(file), None

    def for_share(self, share, rate):
        link = "%.6fGB/s" % (rate * self.added / self.ns)
        return self.plan(self.taken + int(self.resident + share * self.added), link)


class Planned(Asked):
    """A step, recorded in the folder. `step` has forward, batch and update."""

    def __init__(self, step, name, folder):
        file = os.path.join(folder, "step.json")
        with open(file, "w") as text:
            json.dump(spillway_torch.record(step.forward, step.batch, step.update, how="run", repetitions=3, name=name), text)
        super().__init__(file)


def reason(said):
    """The call that needs too much, or the last line."""
    if ": op " in said:
        return said.split(": op ")[-1].split(";")[0].strip()
    return said.strip().split("\n")[-1].split(" at batch")[0]


def above_the_curve(carrier, planned, plan):
    """Bytes by which the last step was above the predicted curve, at the worst call, and that call."""
    live = plan.get("live_bytes") or []
    worst, where = 0, None
    for index, counted in carrier.account.curve.items():
        if index < len(live) and plan["calls"][index]["pass"] != "update":
            above = counted + planned.beside - live[index]
            if above > worst:
                worst, where = above, plan["calls"][index]["id"]
    return worst, where


class Rows:
    def __init__(self):
        self.failed, self.wrong = [], []

    def print(self, *cells):
        print("| %s |" % " | ".join(str(cell) for cell in cells), flush=True)

    def network(self, name):
        with tempfile.TemporaryDirectory() as folder:
            planned = Planned(Step(name), name, folder)
            plain = Trained(name)
            counting = spillway_torch.apply(planned.whole, device="cpu", count=True)
            if not Trained(name, counting).same(plain):
                self.wrong.append("%s: differs under a plan that moves nothing" % name)
            whole = (peak_of(counting) + planned.beside) / 1e6
            self.print(name, "in core", "", "%.1f" % (planned.whole["peak_bytes"] / 1e6), "%.1f" % whole, "", "",
                       strays(counting), "")
            for rate in RATES:
                for share in SHARES:
                    while not self.point(name, planned, plain, share, rate) and share < 0.9:
                        share = (share + 1) / 2  # the smallest size but one that is refused

    def point(self, name, planned, plain, share, rate):
        """False: nothing fits, for a reason that the row states."""
        begun = time.time()
        plan, why = planned.for_share(share, rate)
        label = "%.0f %%, %s link" % (100 * share, "fast" if rate > 1 else "slow")
        if plan is None:
            self.print(name, label, "refused: %s" % why, "", "", "", "", "", "%.0f" % (time.time() - begun))
            return False
        took = time.time() - begun
        carrier = spillway_torch.apply(plan, device="cpu", count=True)
        equal = Trained(name, carrier).same(plain)
        peak, cap = peak_of(carrier) + planned.beside, plan["capacity_bytes"]
        above, where = above_the_curve(carrier, planned, plan)
        moved = carrier.account.contexts[-1]
        self.print(name, label, "%.1f" % (cap / 1e6), "%.1f" % (plan["peak_bytes"] / 1e6), "%.1f" % (peak / 1e6),
                   "%.2f%s" % (above / 1e6, " at %s" % where if where else ""),
                   "%d/%d/%d" % (moved["out"], moved["replayed"], moved["kept"]), strays(carrier), "%.0f" % took)
        point = "%s, %s" % (name, label)
        if not equal:
            self.wrong.append("%s: other numbers than plain training" % point)
        if peak > cap:
            self.wrong.append("%s: counted %d bytes, and the cap is %d" % (point, peak, cap))
        if above:
            self.wrong.append("%s: %d bytes above the curve at %s" % (point, above, where))
        if moved["missing"]:
            self.wrong.append("%s: %d recorded calls did not come" % (point, moved["missing"]))
        return True


def peak_of(carrier):
    return max(context["counted_peak_bytes"] for context in carrier.account.contexts)


def strays(carrier):
    """Extra and missing calls of the last context."""
    last = carrier.account.contexts[-1]
    return "%d/%d" % (last["extra"], last["missing"])


def main():
    rows = Rows()
    rows.print("network", "memory", "cap, MB", "predicted, MB", "counted, MB", "above the curve, MB", "out/rerun/kept",
               "extra/missing", "planned in s")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    for name in sys.argv[1:] or ZOO:
        try:
            rows.network(name)
        except ImportError as error:
            print("left out: %s: %s" % (name, error))
        except Exception as error:
            import traceback
            traceback.print_exc()
            rows.wrong.append("%s: %s: %s" % (name, type(error).__name__, error))
    for mistake in rows.wrong:
        print("FAILED: %s" % mistake)
    print("failed" if rows.wrong else "passed")
    sys.exit(bool(rows.wrong))


if __name__ == "__main__":
    main()
