"""Networks from their own packages, recorded by running and from fakes: a row each of how far the two differ.

    PYTHONPATH=FOLDER_OF_SPILLWAY_TORCH python3 tests/calibrate/torch_zoo.py [NETWORK...]

Deep tier: torch_record_test.sh runs it where the packages are (calibrate/torch/environment.sh --zoo). A network whose
package is absent is left out by name. Exit status 1: a network that fails; calls alike and other peaks; a peak that
PyTorch's profiler did not count; or times alone that miss those of a step of LONG_MS and more by over MOST_OFF.

Other programs may run beside it, so times are the thread's own on the processor, and of repetitions the fastest counts.
How much of its memory a step touches first depends on what the heap has seen before. So page faults of a run are counted,
and the sums are compared with and without first touches; MOST_OFF holds for the latter.
"""
import difflib
import importlib
import json
import os
import sys
import tempfile
import time
import types
import warnings

import torch
from torch import nn
from torch.nn import functional

import spillway_torch
from spillway_torch import peak_of, record

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
cross_entropy = functional.cross_entropy
spillway_torch.time = types.SimpleNamespace(**dict(vars(time), perf_counter=time.thread_time))
spillway_torch.statistics = types.SimpleNamespace(median=min)
LONG_MS, MOST_OFF = 50, 0.25  # the aim is 0.10


def of_timm(name, samples, size, **more):
    import timm
    return timm.create_model(name, num_classes=10, **more), images(samples, size), classify


def of_torchvision(name, samples, size):
    import torchvision
    return getattr(torchvision.models, name)(num_classes=10), images(samples, size), classify


def images(samples, size):
    return [torch.randn(samples, 3, size, size), torch.randint(0, 10, (samples,))]


def classify(network, x, labels):
    return cross_entropy(network(x), labels)


def volumes(samples, size):
    return [torch.randn(samples, 1, size, size, size), torch.randint(0, 2, (samples, 1, size, size, size))]


def of_monai(name, samples, size, **more):
    from monai import losses, networks
    dice = losses.DiceCELoss(to_onehot_y=True, softmax=True)
    network = getattr(networks.nets, name)(in_channels=1, out_channels=2, **more)
    return network, volumes(samples, size), lambda net, x, labels: dice(net(x), labels)


def nnunet():
    from dynamic_network_architectures.architectures.unet import ResidualEncoderUNet
    network = ResidualEncoderUNet(
        1, 3, (8, 16, 32), nn.Conv3d, 3, (1, 2, 2), (1, 2, 2), 2, (1, 1), conv_bias=True, norm_op=nn.InstanceNorm3d,
        norm_op_kwargs={"affine": True}, nonlin=nn.LeakyReLU, nonlin_kwargs={"inplace": True}, deep_supervision=True)

    def loss(net, x, labels):
        made = net(x)
        scales = [functional.interpolate(labels.float(), each.shape[2:]).long()[:, 0] for each in made]
        return sum(cross_entropy(each, scale) for each, scale in zip(made, scales))
    return network, volumes(2, 32), loss


def of_smp(name):
    import segmentation_models_pytorch as smp
    batch = [torch.randn(4, 3, 64, 64), torch.randint(0, 2, (4, 64, 64))]
    return getattr(smp, name)("resnet18", encoder_weights=None, classes=2), batch, classify


def of_transformers(name, length=64, samples=2, checkpointed=False, **more):
    import transformers
    transformers.logging.set_verbosity_error()
    head = {"GPT2": "LMHeadModel", "Llama": "ForCausalLM", "Bert": "ForSequenceClassification"}[name]
    network = getattr(transformers, name + head)(getattr(transformers, name + "Config")(vocab_size=1000, **more))
    if checkpointed:
        network.gradient_checkpointing_enable()
    words = torch.randint(0, 1000, (samples, length))
    labels = torch.randint(0, 2, (samples,)) if name == "Bert" else words.clone()
    return network, [words, labels], lambda net, x, to: net(input_ids=x, labels=to).loss


def mixed(made):
    """The same in mixed precision."""
    network, batch, loss = made

    def half(*words):
        with torch.autocast("cpu", torch.bfloat16):
            return loss(*words)
    return network, batch, half


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.body = nn.Embedding(100, 64), nn.LSTM(64, 96, 2, batch_first=True, dropout=0.1)
        self.head = nn.Linear(96, 100)

    def forward(self, x):
        return self.head(self.body(self.words(x))[0]).transpose(1, 2)


def lstm():
    words = torch.randint(0, 100, (8, 32))
    return Words(), [words, words.clone()], classify


def encoder():
    layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), 2)
    head = nn.Sequential(layers, nn.Linear(64, 10))
    return head, [torch.randn(4, 32, 64), torch.randint(0, 10, (4,))], lambda net, x, to: cross_entropy(net(x).mean(1), to)


GPT = {"n_layer": 3, "n_embd": 96, "n_head": 4, "n_positions": 64, "use_cache": False}
LLAMA = {"num_hidden_layers": 3, "hidden_size": 96, "intermediate_size": 192, "num_attention_heads": 4,
         "num_key_value_heads": 2, "use_cache": False}
BERT = {"num_hidden_layers": 3, "hidden_size": 96, "intermediate_size": 192, "num_attention_heads": 4}
ZOO = {
    "timm ResNet-50": lambda: of_timm("resnet50", 4, 64),
    "timm ConvNeXt": lambda: of_timm("convnext_atto", 4, 64),
    "timm EfficientNet-B0": lambda: of_timm("efficientnet_b0", 4, 64),
    "timm ViT": lambda: of_timm("vit_tiny_patch16_224", 4, 64, img_size=64),
    "timm Swin": lambda: of_timm("swin_tiny_patch4_window7_224", 2, 224, depths=(1, 1, 1, 1)),
    "timm Inception-v3": lambda: of_timm("inception_v3", 4, 96),
    "torchvision DenseNet-121": lambda: of_torchvision("densenet121", 4, 64),
    "torchvision MobileNet-v3": lambda: of_torchvision("mobilenet_v3_small", 4, 64),
    "torchvision RegNet": lambda: of_torchvision("regnet_y_400mf", 4, 64),
    "MONAI U-Net": lambda: of_monai("UNet", 2, 32, spatial_dims=3, channels=(8, 16, 32), strides=(2, 2), norm="batch"),
    "MONAI SwinUNETR": lambda: of_monai("SwinUNETR", 1, 64, feature_size=12, depths=(1, 1, 1, 1)),
    "MONAI SegResNet": lambda: of_monai("SegResNet", 1, 32, init_filters=8, dropout_prob=0.2),
    "MONAI DynUNet": lambda: of_monai("DynUNet", 1, 32, spatial_dims=3, kernel_size=[3, 3, 3], strides=[1, 2, 2],
                                      upsample_kernel_size=[2, 2], filters=[8, 16, 32]),
    "nnU-Net": nnunet,
    "smp U-Net": lambda: of_smp("Unet"),
    "smp DeepLabV3+": lambda: of_smp("DeepLabV3Plus"),
    "GPT-2": lambda: of_transformers("GPT2", **GPT),
    "GPT-2, eager attention": lambda: of_transformers("GPT2", attn_implementation="eager", **GPT),
    "GPT-2, checkpointed": lambda: of_transformers("GPT2", checkpointed=True, **GPT),
    "Llama": lambda: of_transformers("Llama", **LLAMA),
    "BERT": lambda: of_transformers("Bert", **BERT),
    "timm ResNet-18, bf16": lambda: mixed(of_timm("resnet18", 4, 64)),
    "GPT-2, bf16": lambda: mixed(of_transformers("GPT2", **GPT)),
    "LSTM": lstm,
    "TransformerEncoder": encoder,
}
PACKAGES = ["timm", "torchvision", "monai.losses", "monai.networks", "segmentation_models_pytorch",
            "dynamic_network_architectures.architectures.unet", "transformers.models.gpt2.modeling_gpt2",
            "transformers.models.llama.modeling_llama", "transformers.models.bert.modeling_bert"]
PROFILED = ["timm ResNet-50", "torchvision DenseNet-121", "GPT-2", "GPT-2, checkpointed", "Llama", "TransformerEncoder"]


class Step:
    """A network in training."""

    def __init__(self, name):
        torch.manual_seed(1)
        self.network, self.batch, self.loss = ZOO[name]()
        self.network.train()
        self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=1e-3)

    def forward(self, *batch):
        return self.loss(self.network, *batch)

    def update(self):
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def run(self):
        self.forward(*self.batch).backward()
        self.update()


class FirstTouches:
    """Of steps that are timed, and of calls alone: milliseconds, the fewest of all steps."""

    def __init__(self):
        self.ms, self.of_fault = 0.0, spillway_torch.FreshMemory(torch.device("cpu")).of_fault
        self._plain = spillway_torch.Timer.step, spillway_torch.Alone.ns

    def __enter__(self):
        spillway_torch.Timer.step = lambda timer, *words: self._run(timer, *words)
        spillway_torch.Alone.ns = lambda alone, touched, first=0.0: self._alone(alone, touched, first)
        return self

    def __exit__(self, *error):
        spillway_torch.Timer.step, spillway_torch.Alone.ns = self._plain

    def _run(self, timer, *words):
        before = spillway_torch.faults()
        self._plain[0](timer, *words)
        ms = 1e3 * self.of_fault * (spillway_torch.faults() - before)
        self.ms = min(ms, self.ms or ms)

    def _alone(self, alone, touched, first):
        self.ms += 0 if alone.failed else 1e3 * (alone.inside + first)
        return self._plain[1](alone, touched, first)


class Recorded:
    def __init__(self, name, how):
        begun = time.process_time()
        step = Step(name)
        with FirstTouches() as first:
            made = record(step.forward, step.batch, step.update, how=how, repetitions=5)
        self.first_ms = first.ms
        self.nodes, self.values, self.notes = made["nodes"], made["values"], made["made"]["notes"]
        self.seconds = time.process_time() - begun
        self.total_ms = sum(node["ns"] for node in self.nodes) / 1e6
        self.peak = peak_of(self)

    def calls(self):
        return [(node["op"], node["pass"], [result.get("bytes") for result in node["results"]]) for node in self.nodes]

    def beyond_values(self):
        return self.peak - sum(value["bytes"] for value in self.values)


def differing(a, b):
    """Calls that one has and the other lacks, and the first of them."""
    a, b = ([(call[0], call[1], tuple(call[2])) for call in calls] for calls in (a, b))
    pieces = [piece for piece in difflib.SequenceMatcher(None, a, b, False).get_opcodes() if piece[0] != "equal"]
    count = sum(max(piece[2] - piece[1], piece[4] - piece[3]) for piece in pieces)
    return count, "; ".join("%s for %s" % ([call[0] for call in b[piece[3]:piece[4]]][:2],
                                          [call[0] for call in a[piece[1]:piece[2]]][:2]) for piece in pieces[:1])


def profiled_peak(name):
    """Bytes above those before the step, as PyTorch's profiler counts allocations."""
    step = Step(name)
    for _ in range(2):
        step.run()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        step.run()
    folder = tempfile.mkdtemp()
    profile.export_chrome_trace(os.path.join(folder, "trace.json"))
    with open(os.path.join(folder, "trace.json")) as text:
        events = [event for event in json.load(text)["traceEvents"] if event.get("name") == "[memory]"]
    os.remove(os.path.join(folder, "trace.json"))
    os.rmdir(folder)
    now = peak = 0
    for event in sorted(events, key=lambda event: event["ts"]):
        now += event["args"]["Bytes"]
        peak = max(peak, now)
    return peak


def row(name):
    """Prints a network's row. False: its peaks differ though its calls do not, or times are far off."""
    run, calls, again = Recorded(name, "run"), Recorded(name, "calls"), Recorded(name, "run")
    count, first = differing(run.calls(), calls.calls())
    mean = (run.total_ms + again.total_ms) / 2
    off = (calls.total_ms - calls.first_ms) / (mean - (run.first_ms + again.first_ms) / 2) - 1
    print("| %s | %d | %d | %.3f | %.3f | %.1f | %.1f | %.1f | %.1f | %.1f | %+.0f %% | %+.0f %% | %.0f | %s |" % (
        name, len(run.nodes), count, run.peak / 1e6, calls.peak / 1e6, run.total_ms, again.total_ms, run.first_ms,
        again.first_ms, calls.first_ms, 100 * (calls.total_ms / mean - 1), 100 * off, calls.seconds, first), flush=True)
    good = (count > 0 or run.peak == calls.peak) and (mean < LONG_MS or abs(off) < MOST_OFF)
    if name in PROFILED:
        counted = profiled_peak(name)
        print("%s: %d bytes beside what was there, PyTorch's profiler %d" % (name, run.beyond_values(), counted), flush=True)
        good = good and 0.9 < run.beyond_values() / counted < 1.001
    return good


def tried(name):
    """Whether a network's row is as expected; an absent package is no failure."""
    try:
        return row(name)
    except ImportError as error:
        print("left out: %s: %s" % (name, error))
        return True
    except Exception as error:
        print("%s: %s: %s" % (name, type(error).__name__, error))
        return False


def load_packages():
    """Once, and not in each child."""
    for package in PACKAGES:
        try:
            importlib.import_module(package)
        except ImportError:
            pass


def in_child(name):
    """In a process of its own: what the heap has seen before says how much memory a step touches first."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        good = tried(name)
        sys.stdout.flush()
        os._exit(not good)
    return os.waitpid(child, 0)[1] == 0


def main():
    print("| network | calls | differing | peak, run, MB | fakes, MB | run, ms | again | first touches, run, ms | again "
          "| alone | sum alone | without first touches | s | first difference |")
    print("|---" + "|--:" * 12 + "|---|")
    load_packages()
    failed = [name for name in sys.argv[1:] or ZOO if not in_child(name)]
    print("failed: %s" % ", ".join(failed) if failed else "passed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
