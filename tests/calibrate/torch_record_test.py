"""Tests of spillway_torch.py (calibrate/torch) in one process: torch_record_test.sh runs them. Words: names of cases."""
import functools
import hashlib
import inspect
import json
import os
import random
import tempfile
import types
from unittest import mock

import torch
from torch import nn

import record_fresh
import record_gpu
import spillway_torch
import torch_cases
from spillway_torch import NETWORKS, RecordError, record
from torch_cases import expect

torch.set_num_threads(1)
OLD = tuple(int(part) for part in torch.__version__.split(".")[:2]) < (2, 0)


class UNet(nn.Module):
    """Two levels, one skip, batch norm and dropout."""

    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True))
        self.bottom = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.Dropout(0.2), nn.ReLU())
        self.up = nn.ConvTranspose2d(16, 8, 2, 2)
        self.out = nn.Conv2d(16, 2, 1)

    def forward(self, x):
        skip = self.down(x)
        return self.out(torch.cat([self.up(self.bottom(skip)), skip], 1))


class Reader(nn.Module):
    """Reads numbers from its tensors, as losses that check their labels do."""

    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 4)

    def forward(self, x, labels):
        made = self.body(x)
        if labels.max().item() >= 4:
            raise ValueError("no such class")
        return nn.functional.cross_entropy(made, labels) * (1 + labels.min().item())


class Job:
    """A network with its optimizer and batch, as a user has them."""

    def __init__(self, network, batch, loss=nn.functional.cross_entropy, rule=torch.optim.AdamW):
        self.network, self.batch, self.loss = network.train(), batch, loss
        self.optimizer = rule(network.parameters(), lr=0.01)

    def forward(self, *batch):
        if len(inspect.signature(self.network.forward).parameters) == 2:
            return self.network(*batch)
        return self.loss(self.network(batch[0]), batch[1])

    def update(self):
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def record(self, how="run", **more):
        return record(self.forward, self.batch, self.update, how=how, repetitions=2, **more)


def small(name):
    torch.manual_seed(1)
    if name == "unet":
        return Job(UNet(), [torch.randn(2, 3, 16, 16), torch.randint(0, 2, (2, 16, 16))])
    if name == "reader":
        return Job(Reader(), [torch.randn(4, 8), torch.randint(0, 4, (4,))])
    make, draw = NETWORKS[name]
    return Job(make(), draw(2), rule=functools.partial(torch.optim.SGD, momentum=0.9))


def refused(words, call):
    try:
        call()
    except RecordError as error:
        expect(all(word in str(error) for word in words), "'%s' says nothing of %s" % (error, words))
        return
    raise AssertionError("not refused: " + words[0])


def comparable(step):
    """Nodes but for what differs between ways of recording; 1.13's fakes tell less of lifetimes."""
    def told(result):
        return [result.get(key) for key in ("bytes", "in_place", "class") + (() if OLD else ("held_until",))]
    return [(node["op"], node["pass"], node["module"], node["deps"], [told(result) for result in node["results"]],
             node["inputs"], node["outputs"], node.get("also")) for node in step["nodes"]]


def check_calls_are_those_of_a_run(name):
    run, listed = comparable(small(name).record()), comparable(small(name).record("calls", times=None))
    differ = [pair for pair in zip(run, listed) if pair[0] != pair[1]]
    expect(run == listed, "%s: %d and %d calls, first %s" % (name, len(run), len(listed), differ[:1]))


def test_fakes_list_what_a_run_does():
    for name in ("unet", "resnet", "transformer", "reader"):
        check_calls_are_those_of_a_run(name)


def test_each_distinct_call_is_timed_alone():
    step = small("unet").record("calls")
    expect(step["made"]["how"] == "calls" and step["made"]["times"] == "calls", step["made"])
    expect(all(node["ns"] > 0 for node in step["nodes"]), "a call without time")
    expect(not step["made"]["notes"], step["made"]["notes"])
    expect("measured" in step["source"] and step["machine"]["call_ns"] > 0, "no source")


def test_a_call_that_fails_alone_is_told():
    plain, ran = spillway_torch.Prepared.run, []

    def run(self, seconds_of):
        if "convolution_backward" in str(self.function):
            raise ValueError("not these contents")
        ran.append(self)
        return plain(self, seconds_of)
    spillway_torch.Prepared.run = run
    try:
        step = small("unet").record("calls")
    finally:
        spillway_torch.Prepared.run = plain
    notes = step["made"]["notes"]
    expect(ran and any("aten.convolution_backward" in note and "assumed" in note for note in notes), notes)


def test_operands_that_the_library_makes_otherwise_than_fakes_say():
    """Statistics of a norm in 16 bit are in 32; fakes say 16, and backward refuses those."""
    if OLD:
        return
    torch.manual_seed(1)
    network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Conv2d(4, 2, 1))
    job = Job(network, [torch.randn(2, 3, 8, 8), torch.randint(0, 2, (2, 6, 6))])

    def forward(x, to):
        with torch.autocast("cpu", torch.bfloat16):
            return nn.functional.cross_entropy(network(x), to)
    job.forward = forward
    notes = job.record("calls")["made"]["notes"]
    expect(any("size that the call alone showed" in note for note in notes), notes)
    expect(not any("could not be run alone" in note for note in notes), notes)


def test_times_follow_what_was_touched_since():
    alone = spillway_torch.Alone(None)
    for distance, seconds in ((1 << 20, 1.0), (1 << 24, 3.0)):
        alone.knows(distance, seconds)
    expect([alone.seconds_at(1 << power) for power in (0, 20, 22, 24, 30)] == [1.0, 1.0, 2.0, 3.0, 3.0], "interpolation")
    expect(alone.ns([(100, 0), (300, 1 << 30)]) == 2500000000, "by bytes")
    nodes = [{"id": "0:a", "op": "a", "deps": ["v"], "results": [{"id": "0.0", "bytes": 1000}]},
             {"id": "1:b", "op": "b", "deps": ["0.0"], "results": [{"id": "1.0", "bytes": 500}]},
             {"id": "2:a", "op": "a", "deps": ["1.0", "v"], "results": [{"id": "2.0", "in_place": "v"}]}]
    rows = spillway_torch.Distances(nodes, [{"id": "v", "bytes": 4000}]).by_node
    # v: written by the third node of the step before, which touches 4500 bytes; then after 5000 and 1500.
    expect([row[0] for row in rows] == [(4000, 4500), (1000, 5000), (500, 1500)] and rows[2][1] == (4000, 6500), rows)


def test_without_times_no_call_runs():
    ran = []
    plain = spillway_torch.Prepared
    spillway_torch.Prepared = lambda *words: ran.append(words)
    try:
        step = small("unet").record("calls", times=None)
    finally:
        spillway_torch.Prepared = plain
    expect(not ran and "assumed" in step["source"] and step["made"]["times"] == "assumed", step["source"])


def test_the_file_begins_with_its_format():
    step = json.loads(json.dumps(small("unet").record(), allow_nan=False))
    expect(list(step)[:2] == ["format", "version"] and step["version"] == 2, list(step))
    expect(step["device"]["precision"] == "fp32" and step["machine"]["memory_bytes"] > 2 ** 28, step["device"])
    order = [("forward", "backward", "update").index(node["pass"]) for node in step["nodes"]]
    expect(order == sorted(order) and set(order) == {0, 1, 2}, "phases")


def test_backward_calls_have_the_module_of_their_forward():
    step = small("transformer").record("calls", times=None)
    modules = {way: {node["module"] for node in step["nodes"] if node["pass"] == way} for way in ("forward", "backward")}
    for name in ("words", "blocks.0.qkv", "blocks.3.norm2", "blocks.1.dropout", "head"):
        expect(name in modules["forward"] and name in modules["backward"], "%s: %s" % (name, modules["backward"]))
    convolutions = [node for node in small("resnet").record()["nodes"] if "convolution" in node["op"]]
    ahead = [node["module"] for node in convolutions if node["pass"] == "forward"]
    back = [node["module"] for node in convolutions if node["pass"] == "backward"]
    # A block whose shortcut is a convolution runs both backwards in an order of autograd's own.
    expect(sorted(ahead) == sorted(back) and len(set(ahead)) == len(ahead), "%s %s" % (ahead, back))


def test_values_and_results_have_classes():
    step = small("unet").record()
    classes = {value["name"]: value["class"] for value in step["values"] if "name" in value}
    expect(classes["down.0.weight"] == "weight" and classes["down.1.running_mean"] == "buffer", classes)
    expect(classes["batch[1]"] == "batch" and classes["up.bias.exp_avg"] == "state", classes)
    sizes = sorted(4 * parameter.numel() for parameter in small("unet").network.parameters())
    gradients = [result["bytes"] for node in step["nodes"] for result in node["results"]
                 if result.get("class") == "gradient"]
    expect(sorted(gradients) == sizes, "%s %s" % (sorted(gradients), sizes))


def test_random_calls_are_marked():
    random_ones = [node for node in small("unet").record()["nodes"] if node.get("random")]
    expect([node["module"] for node in random_ones] == ["bottom.2"], random_ones)
    expect(random_ones[0]["replay"] and "recompute" not in random_ones[0], random_ones)


def test_the_optimizers_step_number_varies():
    step = small("unet").record()
    expect(step["varies"] and all(len(each["values"]) == 2 for each in step["varies"]), step.get("varies"))
    ways = {node["id"]: node["pass"] for node in step["nodes"]}
    expect({ways[each["node"]] for each in step["varies"]} == {"update"}, step["varies"])


def test_what_the_user_keeps_is_held():
    job, kept = small("unet"), []

    def forward(x, labels):
        logits = job.network(x)
        kept[:] = [logits.detach()]
        return nn.functional.cross_entropy(logits, labels)

    for how in ("run", "calls"):
        step = record(forward, job.batch, job.update, how=how, times=None, repetitions=2)
        held = [node["module"] for node in step["nodes"] for result in node["results"]
                if result.get("held_until") == "end" and node["pass"] == "forward"]
        expect("out" in held if OLD else held == ["out"], "%s: %s" % (how, held))


class Product(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a, self.b = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        return self.a(x).tanh() * self.b(x).sigmoid()


def test_what_a_gradient_function_takes_before_its_first_call():
    torch.manual_seed(1)
    step = Job(Product(8), [torch.randn(4, 8), torch.randn(4, 8)], nn.functional.mse_loss).record()
    makers = {result["id"]: node["op"] for node in step["nodes"] for result in node["results"] if node["pass"] == "forward"}
    products = [node for node in step["nodes"] if node["op"] == "aten.mul.Tensor" and node["pass"] == "backward"]
    taken = [[makers[name] for name in node.get("also", [])] for node in products]
    read = [[makers[name] for name in node["deps"] if name in makers] for node in products]
    expect(sorted(read) == [["aten.sigmoid.default"], ["aten.tanh.default"]], read)
    expect(taken == [read[1], []], taken)
    expect(not any("also" in node for node in step["nodes"] if node["pass"] != "backward"), "also outside of backward")


class Cubed(torch.autograd.Function):
    """Reads what it saved after a call of its own."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, gradient):
        three = gradient * 3
        return three * ctx.saved_tensors[0] ** 2


class Watching(torch.utils._python_dispatch.TorchDispatchMode):
    """Calls and unpackings of backward, each with the name and the address of the running function of autograd."""

    def __init__(self):
        super().__init__()
        self.events, self.held = [], []

    def event(self, what):
        node = torch._C._current_autograd_node()
        if node is not None:
            self.held.append(node)
            self.events.append((what, node.name(), id(node)))

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if not spillway_torch.only_views(function):
            self.event("call")
        return function(*args, **(kwargs or {}))

    def unpacked(self, tensor):
        self.event("unpack")
        return tensor


def test_when_gradient_functions_unpack():
    """PyTorch's own before their first call, all at once; a custom one when its backward asks."""
    if OLD:
        return
    torch.manual_seed(1)
    network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.SiLU(), nn.Conv2d(4, 4, 3), nn.GroupNorm(2, 4),
                            nn.Flatten(), Product(64), nn.Dropout(0.5), nn.Linear(64, 4))
    watching = Watching()
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, watching.unpacked):
        x = network(torch.randn(4, 3, 8, 8))
        loss = nn.functional.cross_entropy(Cubed.apply(x[:, None] @ x[..., None]).flatten(1) + x, torch.arange(4))
    with watching:
        loss.backward()
    late, asked = set(), set()
    for what, name, node in watching.events:
        if what == "call":
            asked.add(node)
        elif node in asked:
            late.add(name)
    names = {name for what, name, _ in watching.events if what == "unpack"}
    expect({"ConvolutionBackward0", "NativeBatchNormBackward0", "NativeGroupNormBackward0", "AddmmBackward0", "MulBackward0",
            "BmmBackward0"} <= names, names)
    expect(late == {"CubedBackward"}, late)


def test_storages_that_nobody_wrote_are_told():
    weight = nn.Parameter(torch.ones(4))

    def forward(x):
        return (weight * x * torch.empty(4)).sum() * 0

    step = record(forward, [torch.ones(4)], how="run", repetitions=1)
    named = {result["id"]: node["op"] for node in step["nodes"] for result in node["results"]}
    expect([named[name] for name in step["unseen"]] == ["aten.empty.memory_format"], step.get("unseen"))
    expect("unseen" not in small("unet").record(), "a step without invisible kernels")


def digest(job):
    """Of all that a recording must leave alone, random states included."""
    made = hashlib.sha256()
    tensors = dict(job.network.state_dict())
    tensors.update(("gradient " + name, parameter.grad) for name, parameter in job.network.named_parameters())
    for index, state in enumerate(job.optimizer.state.values()):
        tensors.update(("state %d %s" % (index, key), value) for key, value in state.items())
    for name, value in tensors.items():
        made.update(name.encode())
        made.update(value.detach().contiguous().numpy().tobytes() if torch.is_tensor(value) else repr(value).encode())
    made.update(torch.get_rng_state().numpy().tobytes() + repr(random.getstate()).encode())
    made.update(repr([group["lr"] for group in job.optimizer.param_groups]).encode())
    return made.hexdigest()


def trained(gradients):
    """A job in the middle of its training."""
    job = small("unet")
    for _ in range(2):
        job.forward(*job.batch).backward()
        job.update()
    if gradients:
        job.forward(*job.batch).backward()
    return job


def test_recording_leaves_no_trace():
    for how, times, gradients in (("run", "", False), ("run", "", True), ("calls", "", True), ("calls", None, True),
                                  ("auto", "", True)):
        job = trained(gradients)
        before, objects = digest(job), [id(parameter) for parameter in job.network.parameters()]
        job.record(how, times=times)
        expect(digest(job) == before, "%s, times %s: something changed" % (how, times))
        expect(objects == [id(parameter) for parameter in job.network.parameters()], "%s: other parameters" % how)
    fresh = small("unet")
    fresh.record()
    expect(len(fresh.optimizer.state) == 0, "states were left behind")


def test_training_goes_on_as_without():
    plain, recorded = trained(False), trained(False)
    recorded.record("run")
    recorded.record("calls", times=None)
    for job in (plain, recorded):
        torch.manual_seed(7)
        job.forward(*job.batch).backward()
        job.update()
    expect(digest(plain) == digest(recorded), "a step after the recording differs")


def test_an_error_leaves_no_trace():
    for how in ("run", "calls"):
        job, steps = trained(True), []
        before = digest(job)

        def update():
            steps.append(1)
            job.optimizer.step()
            if len(steps) == 2:
                raise KeyboardInterrupt

        try:
            record(job.forward, job.batch, update, how=how, times=None)
            raise AssertionError("no error")
        except KeyboardInterrupt:
            pass
        expect(digest(job) == before, how)
        expect(not spillway_torch.hooks_of_all._global_forward_hooks, "a hook stayed")


class Peeking(Reader):
    """Reads a number that follows from its weights."""

    def forward(self, x, labels):
        if self.body(x).detach().abs().max().item() > 1e9:
            raise ValueError("too large")
        return super().forward(x, labels)


def test_numbers_come_from_a_smaller_batch():
    torch.manual_seed(1)
    job = Job(Peeking(), small("reader").batch)
    notes = job.record("calls", times=None)["made"]["notes"]
    expect(any("smaller batch" in note for note in notes), notes)
    expect(comparable(job.record()) == comparable(job.record("calls", times=None)), "the calls differ")


def test_numbers_that_follow_from_the_batch_are_known():
    job = small("reader")
    job.batch[1] = torch.tensor([2, 1, 3, 3])
    for network in (job.network, Reader().to("meta")):
        job.network = network.train()
        job.optimizer = torch.optim.AdamW(network.parameters())
        step = job.record("calls", times=None)
        scales = [float(scalar) for node in step["nodes"] if node["op"] == "aten.mul.Tensor" and node["pass"] == "forward"
                  for scalar in node["scalars"] if scalar is not None]
        expect(scales == [2.0] and not step["made"]["notes"], "%s %s" % (scales, step["made"]["notes"]))


def test_what_a_number_follows_from():
    """By calls of fakes: constants and what calls make of them; not what was overwritten, drawn, or made of weights."""
    with spillway_torch.fake_mode() as mode:
        with spillway_torch.without_modes():
            real = torch.arange(6)
        batch, weight = mode.from_tensor(real), torch.ones(6)
        known = spillway_torch.Known([(batch, real)])
        aten = torch.ops.aten

        def call(function, *args):
            result = function(*args)
            known.learn(function, args, {}, result)
            return result

        def number(tensor):
            return known.number(aten._local_scalar_dense.default, (tensor,), {})
        part = call(aten.select.int, call(aten.cumsum.default, batch, 0), 0, 3)
        expect(number(part) == (True, 6), number(part))
        expect(number(call(aten.sum.default, call(aten.mul.Tensor, batch, weight))) == (False, None), "made of a weight")
        expect(number(call(aten.bernoulli.p, part, 0.5)) == (False, None), "drawn")
        call(aten.add_.Tensor, batch, 1)
        expect(number(call(aten.select.int, batch, 0, 1)) == (False, None), "overwritten")
        expect(number(part) == (True, 6), "made before")


class Lister(nn.Module):
    """Reads lists, of constants and of its batch."""

    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 4)

    def forward(self, x, labels):
        axes = torch.arange(0, x.dim()).tolist()
        return self.body(x).mean(axes) * labels.reshape(2, 2).tolist()[1][0]


def test_lists_of_numbers_are_no_calls():
    torch.manual_seed(1)
    job = Job(Lister(), [torch.randn(4, 8), torch.tensor([0, 2, 3, 1])])
    plain = torch.Tensor.tolist
    run, listed = ([call[:4] for call in comparable(job.record(how, times=None))] for how in ("run", "calls"))
    expect(run == listed, [pair for pair in zip(run, listed) if pair[0] != pair[1]][:1])
    expect(torch.Tensor.tolist is plain and torch.ones(2).tolist() == [1.0, 1.0], "tolist stayed another")


def test_views_changed_in_place():
    """Backward of a view that was overwritten copies into new memory, by strides."""
    if OLD:
        return
    torch.manual_seed(1)
    network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.InstanceNorm2d(4, affine=True), nn.LeakyReLU(inplace=True), nn.Conv2d(4, 2, 1))
    job = Job(network, [torch.randn(2, 3, 8, 8), torch.randint(0, 2, (2, 6, 6))])
    job.forward = lambda x, to: nn.functional.cross_entropy(network(x), to)
    run, listed = job.record(), job.record("calls", times=None)
    expect(comparable(run) == comparable(listed), [pair for pair in zip(comparable(run), comparable(listed))
                                                   if pair[0] != pair[1]][:1])
    expect("aten.new_zeros.default" in [node["op"] for node in run["nodes"]], "no copy by strides")


class Scored(nn.Module):
    """Bags of words, folded into an image, with a loss of its own."""

    def __init__(self, loss, reduction):
        super().__init__()
        self.words, self.body = nn.EmbeddingBag(9, 32), nn.Linear(32, 8 * 4)
        self.loss, self.reduction = loss, reduction

    def forward(self, bags, to):
        image = nn.functional.fold(self.body(self.words(bags)).reshape(4, 8, 4), (3, 3), (2, 2)).flip(3)
        made = self.loss(image.sigmoid(), to, reduction=self.reduction)
        return made.sum() if self.reduction == "none" else made


def test_results_whose_storage_is_larger_than_they_are():
    """A loss keeps the storage of its elements when it is one number; fakes have four bytes."""
    functional, peaks = nn.functional, []
    losses = [functional.mse_loss, functional.smooth_l1_loss, functional.binary_cross_entropy, functional.l1_loss,
              functional.soft_margin_loss] + ([] if OLD else [functional.huber_loss])
    for loss, reduction in [(loss, "mean") for loss in losses] + [(losses[0], "sum"), (losses[2], "none")]:
        torch.manual_seed(1)
        job = Job(Scored(loss, reduction), [torch.randint(0, 9, (4, 5)), torch.rand(4, 2, 3, 3)])
        run, listed = (job.record(how, times=None) for how in ("run", "calls"))
        sizes = [[[result.get("bytes") for result in node["results"]] for node in step["nodes"]] for step in (run, listed)]
        differ = [(node["op"],) + pair for node, pair in zip(run["nodes"], zip(*sizes)) if pair[0] != pair[1]]
        expect(not differ and len(sizes[0]) == len(sizes[1]), "%s %s: %s" % (loss.__name__, reduction, differ))
        peaks.append([spillway_torch.peak_of(spillway_torch.argparse.Namespace(**step)) for step in (run, listed)])
    expect(OLD or all(one == other for one, other in peaks), peaks)


def test_a_loss_of_broadcast_operands():
    network = nn.Linear(1, 1)
    for how in ("run", "calls"):
        step = record(lambda x, to: nn.functional.mse_loss(network(x), to), [torch.rand(64, 1), torch.rand(1, 48)], how=how,
                      times=None, repetitions=1)
        made = [result["bytes"] for node in step["nodes"] for result in node["results"] if node["op"] == "aten.mse_loss.default"]
        expect(made == [4 * 64 * 48], "%s: %s" % (how, made))


def test_optimizers_without_foreach_are_noted():
    """Where a GPU would take lists, nothing is said."""
    rules = torch.optim
    told = {"optimizer without foreach: AdamW (foreach=False)": functools.partial(rules.AdamW, foreach=False),
            "optimizer without foreach: Tiny (no such option)": Tiny, None: rules.AdamW}
    for note, rule in told.items():
        job = Job(small("unet").network, small("unet").batch, rule=rule)
        for how in ("run", "calls"):
            notes = [each for each in job.record(how, times=None)["made"]["notes"] if each.startswith("optimizer")]
            expect(notes == ([] if note is None else [note]), "%s: %s" % (how, notes))
    network = nn.Linear(2, 2)
    both = [rules.SGD(network.parameters(), 0.1, foreach=False), rules.SGD(network.parameters(), 0.1)]
    expect(spillway_torch.foreach_notes(both) == [] and spillway_torch.foreach_notes([]) == [], "one of them may")


class Tiny(torch.optim.Optimizer):
    """A rule of one's own."""

    def __init__(self, parameters, lr):
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.add_(parameter.grad, alpha=-group["lr"])


def test_mistakes_are_told():
    job = small("unet")
    refused(["pass a list of tensors"], lambda: record(job.forward, job.batch[0], job.update))
    refused(["'auto', 'run' or 'calls'"], lambda: job.record("runs"))
    refused(["no network was found", "model="], lambda: record(lambda x: x.sum(), [torch.ones(2)]))
    refused(["needs no gradient"], lambda: record(lambda *b: job.forward(*b).detach(), job.batch, job.update, how="run"))
    refused(["return the loss", "[2, 2, 16, 16]"], lambda: record(lambda x, _: job.network(x), job.batch, how="run"))
    split = nn.DataParallel(job.network)
    refused(["DataParallel", ".module"], lambda: record(lambda *b: split(*b), job.batch))


def test_steps_that_differ_are_told():
    for after, told in ((3, ["step 2 differs from step 1 at call", "([]"]), (4, ["step 3 differs", "aten.mul"])):
        job, steps = small("unet"), []

        def forward(*batch):
            steps.append(1)
            loss = job.forward(*batch)
            return loss * 2 if len(steps) > after else loss

        refused(told + ["aten.mul.Tensor"],
                lambda: record(forward, job.batch, job.update, how="run", repetitions=2))


class Checkpointed(nn.Module):
    """Six blocks that keep only what enters them."""

    def __init__(self, again):
        super().__init__()
        self.again = again
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(32, 128), nn.GELU(), nn.Linear(128, 32)) for _ in range(6))

    def forward(self, x):
        for block in self.blocks:
            x = self.again(block, x)
        return x.square().mean()


def test_a_checkpoint_keeps_nothing_to_the_end():
    """The recorder must not hold what a second forward saves; a batch may need gradients."""
    if OLD:
        return
    from torch.utils.checkpoint import checkpoint
    for reentrant in (True, False):
        network = Checkpointed(functools.partial(checkpoint, use_reentrant=reentrant))
        batch = [torch.randn(256, 32, requires_grad=True)]
        for how in ("run", "calls"):
            step = record(network, batch, how=how, times=None, repetitions=1)
            ends = [(node["op"], result) for node in step["nodes"] for result in node["results"]
                    if result.get("held_until") == "end" and result.get("class") != "gradient"]
            expect(not ends, "%s, reentrant %s: %s" % (how, reentrant, ends[:3]))
            expect(batch[0].grad is None, "a gradient of the batch stayed")
            one = 4 * 256 * (2 * 128 + 2 * 32)  # what a block's backward takes
            plain = 4 * 256 * 32 * 8 + 2 * sum(4 * parameter.numel() for parameter in network.parameters())
            peak = spillway_torch.peak_of(spillway_torch.argparse.Namespace(**step))
            expect(peak < plain + 3 * one, "%s, reentrant %s: %d" % (how, reentrant, peak))


def test_a_compiled_network_is_told():
    if OLD:
        return
    compiled = torch.compile(small("unet").network, backend="eager")
    refused(["compiled", "_orig_mod"], lambda: record(lambda x, _: compiled(x).sum(), small("unet").batch))
    job = small("unet")
    job.network.down.compile(backend="eager")
    refused(["module 'down' is compiled", ".compile()"], job.record)


def test_a_compiled_function_is_told():
    if OLD:
        return
    job = small("unet")
    refused(["forward is compiled", "torch.compile"],
            lambda: record(torch.compile(job.forward, backend="eager"), job.batch, job.update, how="run"))


def test_several_devices_are_told():
    def on(place):
        return types.SimpleNamespace(device=torch.device(place))
    spillway_torch.check_devices([("'a'", on("cuda:0")), ("'b'", on("cuda:0")), ("'c'", on("meta"))])
    refused(["'a' on cuda:0", "'c' on cuda:1", "network.to(device)"], lambda: spillway_torch.check_devices(
        [("'a'", on("cuda:0")), ("'b'", on("cuda:0")), ("'c'", on("cuda:1"))]))
    refused(["'b' on cpu"], lambda: spillway_torch.check_devices([("'a'", on("cuda:0")), ("'b'", on("cpu"))]))


def test_networks_of_several_processes_are_told():
    from torch import distributed
    if not distributed.is_available() or not distributed.is_gloo_available():
        print("left out: networks of several processes, this PyTorch has no gloo")
        return
    with tempfile.TemporaryDirectory() as folder:
        distributed.init_process_group("gloo", init_method="file://" + os.path.join(folder, "meet"), rank=0, world_size=1)
        try:
            job = small("unet")
            whole = nn.parallel.DistributedDataParallel(job.network)
            refused(["the network is DistributedDataParallel", ".module"],
                    lambda: record(lambda *b: whole(b[0]).sum(), job.batch, job.update))
            check_sharded(distributed)
        finally:
            distributed.destroy_process_group()


def check_sharded(distributed):
    """A network of one process that is sharded: as a whole, one module of it, and by the newer way."""
    try:
        from torch.distributed.fsdp import FullyShardedDataParallel
    except (ImportError, ValueError) as error:  # PyTorch 1.13's does not load on Python 3.11
        print("left out: FullyShardedDataParallel: %s" % error)
        return
    device = {} if OLD else {"device_id": torch.device("cpu")}
    with mock.patch("torch.cuda.current_device", lambda: 0):  # 1.13 asks for it, and moves nothing
        whole, inner = small("unet"), small("unet")
        whole.network = FullyShardedDataParallel(whole.network, **device)
        inner.network.bottom = FullyShardedDataParallel(inner.network.bottom, **device)
    for job, where in ((whole, "the network"), (inner, "module 'bottom'")):
        for how in ("run", "calls"):
            refused([where + " is FullyShardedDataParallel", ".module", "CUDA_VISIBLE_DEVICES=0"], lambda: job.record(how))
    if not OLD:
        from torch.distributed.fsdp import fully_shard
        sharded = small("unet").network
        fully_shard(sharded.down, mesh=distributed.init_device_mesh("cpu", (1,)))
        refused(["module 'down' is FSDPModule"], lambda: record(lambda *b: sharded(b[0]).sum(), whole.batch))


def test_gradients_that_were_there_are_told():
    for how, gradients in (("run", True), ("calls", True), ("calls", False)):
        notes = trained(gradients).record(how, times=None)["made"]["notes"]
        expect(any("gradients that were there" in note for note in notes) == gradients, "%s: %s" % (how, notes))


def test_a_run_without_memory_is_told():
    job = small("unet")
    job.network.out.to("meta")
    refused(["'out.weight' lies on the meta device", "how='calls'"], job.record)


def test_a_network_on_the_meta_device():
    real = comparable(small("resnet").record("calls", times=None))
    job = small("resnet")
    job.network.to(torch.device("meta"))
    job.optimizer = torch.optim.SGD(job.network.parameters(), lr=0.01, momentum=0.9)
    expect(comparable(job.record("auto", times=None)) == real, "the calls differ from those of the real network")


def main():
    cases = {name[5:]: case for name, case in globals().items() if name.startswith("test_")}
    torch_cases.run(dict(cases, **record_fresh.CASES, **record_gpu.CASES))


if __name__ == "__main__":
    main()
