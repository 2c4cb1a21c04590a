"""Loops recorded in place, and their plans carried out: several kinds of step, wide contexts, scalers, loops that end early.

torch_record_test.sh runs this file on spillway_torch.py. SPILLWAY in the environment: the program, which plans.
"""
import contextlib
import csv
import functools
import gc
import io
import json
import os
import subprocess
import tempfile
import weakref

import torch
from torch import nn
from torch.nn import functional as F

import spillway_torch
import torch_cases
from carrier_networks import NETWORKS

PROGRAM = os.environ["SPILLWAY"]
DEEP = "SPILLWAY_DEEP" in os.environ
OLD = torch.__version__.startswith("1.")
SCENARIO = """name: watched
network: {graph: %s}
machines: [v100-x86-pcie3]
link: %s
memory: %d B
strategies: [%s]
"""
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def test_of_the_newest(function):
    """Slow on PyTorch 1.13: there in the deep tier."""
    return function if OLD and not DEEP else test(function)


def deep_test(function):
    return test(function) if DEEP else function


class Loop:
    """A training loop from seed 1. `contexts(step)` gives the context of a micro batch, `whole` that of a whole step."""

    def __init__(self, name, steps, micro=1, narrow=None, wide=None, attach=None, samples=None, change=None, scaled=False,
                 set_to_none=True):
        make, self.loss, draw, usual = NETWORKS[name]
        torch.manual_seed(1)
        self.network = make().train()
        if change is not None:
            change(self.network)
        self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=0.01, foreach=False)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=4.0) if scaled else None
        self.losses, none = [], contextlib.nullcontext()
        if attach is not None:
            attach.attach(self.network)
        for _ in range(steps):
            with wide or none:
                self.optimizer.zero_grad(set_to_none=set_to_none)
                for _ in range(micro):
                    batch = draw(samples or usual)
                    with narrow or none:
                        self._micro(batch, micro)
                self._update()
        if attach is not None:
            attach.detach()
        self.random = torch.get_rng_state()

    def _micro(self, batch, micro):
        loss = self.loss(self.network, *batch)
        loss = loss if micro == 1 else loss / micro
        (loss if self.scaler is None else self.scaler.scale(loss)).backward()
        self.losses.append(loss.item())

    def _update(self):
        if self.scaler is None:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
            self.optimizer.step()
            return
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def same(self, other):
        state, others = self.network.state_dict(), other.network.state_dict()
        return (self.losses == other.losses and torch.equal(self.random, other.random)
                and all(torch.equal(state[key], others[key]) for key in others))


class Watched:
    """A recording made in place, in a folder, and plans of it."""

    def __init__(self, folder, name, how="attach", kinds=1, **loop):
        self.path = os.path.join(folder, "step.json")
        self.watcher = spillway_torch.watch(self.path, device="cpu", kinds=kinds, count=True)
        self.said, self.peak = io.StringIO(), None
        with contextlib.redirect_stderr(self.said):
            self.loop = Loop(name, **{how: self.watcher}, **loop)
            self.watcher.finish()
        with open(self.path) as file:
            self.step = json.load(file)

    def plan(self, share, link="1 GB/s", strategy="best"):
        if self.peak is None:
            self.peak = self._plan(10 ** 9, link, "in-core")["peak_bytes"]
        return self._plan(int(self.peak * share), link, strategy)

    def _plan(self, memory, link, strategy):
        scenario, out = self.path + ".yaml", self.path + ".plan"
        with open(scenario, "w") as file:
            file.write(SCENARIO % (self.path, link, memory, strategy))
        done = subprocess.run([PROGRAM, "plan", scenario, "--for", "torch", "-o", out], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        assert done.returncode == 0, done.stderr
        with open(out) as file:
            return json.load(file)


def carried(plan, name, how="attach", **loop):
    carrier = spillway_torch.apply(plan, device="cpu", count=True)
    return carrier, Loop(name, **{how: carrier}, **loop)


def within_caps(carrier, plan, first=0):
    caps = [kind["capacity_bytes"] for kind in [plan] + plan.get("more", [])]
    return all(context["counted_peak_bytes"] <= caps[context["kind"]] for context in carrier.account.contexts[first:])


def nothing_left():
    from torch.utils._python_dispatch import _get_current_dispatch_mode
    return _get_current_dispatch_mode() is None and not nn.modules.module._global_forward_pre_hooks


@test
def a_running_loop_is_recorded_planned_and_carried_out(folder):
    for name in [each for each in NETWORKS if each != "masked"] if DEEP else ["unet"]:
        plain = Loop(name, steps=5)
        watched = Watched(folder, name, steps=5)
        assert watched.loop.same(plain), name
        assert watched.watcher.done and nothing_left() and watched.said.getvalue().count("Spillway") == 1
        assert "more" not in watched.step, watched.said.getvalue()
        plan = watched.plan(0.7)
        carrier, loop = carried(plan, name, steps=5)
        contexts = carrier.account.contexts
        assert loop.same(plain), name
        assert all(context["extra"] == 0 and context["missing"] == 0 for context in contexts[1:]) or OLD, contexts[-1]
        assert within_caps(carrier, plan), (name, contexts[-1])


@test
def what_a_recorder_says_and_what_a_watcher_says(folder):
    """The same calls in the same order, with the same bytes, as a recording of the step alone."""
    make, loss, draw, samples = NETWORKS["attention"]
    step = Watched(folder, "attention", how="narrow", steps=4).step
    torch.manual_seed(1)
    network = make().train()

    def update():
        network.zero_grad(set_to_none=True)

    alone = spillway_torch.record(lambda *batch: loss(network, *batch), draw(samples), update, how="run", repetitions=2)
    last = step["nodes"].pop()
    assert last["op"] == "aten._local_scalar_dense.default" and last["pass"] == "update"  # loss.item()
    for key in ("op", "pass", "inputs", "scalars", "module"):
        said = [[node[key] for node in recording["nodes"] if key != "module" or node["pass"] == "forward" or not OLD]
                for recording in (step, alone)]
        assert said[0] == said[1], key
    bytes_of = lambda recording: [[r.get("bytes") for r in node["results"]] for node in recording["nodes"]]
    assert bytes_of(step) == bytes_of(alone)
    assert sorted(v.get("name", "") for v in step["values"] if v.get("class") == "weight") == sorted(
        v.get("name", "") for v in alone["values"] if v.get("class") == "weight")
    ends = [[r.get("held_until") == "end" for r in node["results"] if r.get("class") == "gradient"] for node in step["nodes"]]
    assert any(any(each) for each in ends)  # the loop holds its gradients when the context ends


def each_kind_is_validated_by_its_own_plan(carrier, plan, report):
    """`spillway validate` has a row for each kind that ran."""
    carrier.report(report)
    done = subprocess.run([PROGRAM, "validate", "--torch", report, "--format", "csv"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr
    rows, contexts = list(csv.DictReader(io.StringIO(done.stdout))), carrier.account.contexts
    kinds, plans = sorted({context["kind"] for context in contexts}), [plan] + plan.get("more", [])
    assert len(kinds) > 1 and len(rows) == len(kinds), done.stdout
    for row, kind in zip(rows, kinds):
        peak = max(context["counted_peak_bytes"] for context in contexts if context["kind"] == kind)
        assert int(row["memory_limit_bytes"]) == plans[kind]["capacity_bytes"], (kind, row)
        assert int(row["predicted_peak_bytes"]) == plans[kind]["peak_bytes"], (kind, row)
        assert int(row["measured_peak_bytes"]) == peak, (kind, row)


@test_of_the_newest
def micro_batches_are_two_kinds_in_one_plan(folder):
    """Accumulation of three: the first has no gradients yet. The kind is found at the first call that differs.

    Attached, the last is a third kind: it holds what comes between backward and the optimizer's step.
    """
    for name, how in ([("unet", "attach"), ("attention", "narrow"), ("odd", "attach")] if DEEP else [("attention", "narrow")]):
        plain = Loop(name, steps=4, micro=3)
        watched = Watched(folder, name, how=how, steps=4, micro=3)
        assert watched.loop.same(plain), name
        assert len(watched.step.get("more", [])) == (2 if how == "attach" else 1), watched.said.getvalue()
        # PyTorch 1.13 tells the ends of gradient functions alone: values count as taken for longer, and plans need more.
        tight = 0.74 if OLD and name == "odd" else 0.7
        for share, link in [(0.75, "1 GB/s"), (tight, "20 GB/s")][:2 if DEEP else 1]:
            plan = watched.plan(share, link)
            carrier, loop = carried(plan, name, how, steps=3, micro=3)
            assert loop.same(plain if len(plain.losses) == len(loop.losses) else Loop(name, steps=3, micro=3)), name
            contexts = carrier.account.contexts
            assert [context["kind"] for context in contexts][:6] == 2 * ([0, 1, 2] if how == "attach" else [1, 0, 0]) or OLD, contexts
            assert all(context["missing"] == 0 and context["extra"] == 0 for context in contexts) or how == "attach"
            assert within_caps(carrier, plan), (name, share, [c["counted_peak_bytes"] for c in contexts], plan["capacity_bytes"])
            each_kind_is_validated_by_its_own_plan(carrier, plan, watched.path + ".report")


@test_of_the_newest
def wide_contexts_with_prefix_and_optimizer(folder):
    """zero_grad before, clip and AdamW after, two micro batches inside: a cut at the second forward."""
    options = dict(how="wide", micro=2, set_to_none=False)
    plain = Loop("unet", steps=6, micro=2, set_to_none=False)
    watched = Watched(folder, "unet", steps=6, **options)
    assert watched.loop.same(plain)
    assert len(watched.step["more"]) == 1, watched.said.getvalue()
    assert not any(node["op"].startswith("aten.zero_") for node in watched.step["nodes"][:20])
    plan = watched.plan(0.75)
    carrier, loop = carried(plan, "unet", steps=6, **options)
    assert loop.same(plain)
    contexts = carrier.account.contexts
    assert len(contexts) == 12, len(contexts)
    assert all(context["missing"] == 0 and context["extra"] <= 2 for context in contexts[4:]), contexts[4:]  # a batch drawn
    assert within_caps(carrier, plan, 2)  # the first step is of no kind: it makes gradients and states


@deep_test
def scaled_losses(folder):
    """GradScaler makes its scale in the first context: calls more, in the middle."""
    if OLD:
        return  # its GradScaler is for CUDA alone
    options = dict(micro=2, scaled=True)
    plain = Loop("unet", steps=5, **options)
    for how in ("attach", "wide") if DEEP else ("attach",):
        watched = Watched(folder, "unet", how=how, steps=5, **options)
        assert watched.loop.same(plain), how
        plan = watched.plan(0.7)
        carrier, loop = carried(plan, "unet", how, steps=5, **options)
        assert loop.same(plain), how
        assert all(context["lost_at"] is None and context["missing"] == 0 for context in carrier.account.contexts[2:])
        assert within_caps(carrier, plan), how


class Masked(nn.Module):
    """Leaves a mask out where there is no padding, as BERT does: two kinds that no shape tells apart."""

    def __init__(self):
        super().__init__()
        self.words, self.wide, self.head = nn.Embedding(50, 64), nn.Linear(64, 256), nn.Linear(256, 50)
        self.more = nn.Sequential(*[part for _ in range(4) for part in (nn.Linear(256, 256), nn.Tanh())])

    def forward(self, x):
        y = self.words(x).tanh()
        if (x == 0).any():
            y = y * (x != 0).to(y.dtype).unsqueeze(-1)
            y = y - y.mean(1, keepdim=True)
        return self.head(self.more(F.gelu(self.wide(y)))).transpose(1, 2)


def padded(samples):
    x = torch.randint(1, 50, (samples, 24 + 8 * int(torch.randint(0, 2, ()))))
    if torch.rand(()) < 0.5:
        x[0, 0] = 0
    return [x, x]


NETWORKS["masked"] = (Masked, lambda network, x, y: F.cross_entropy(network(x), y), padded, 16)


@test_of_the_newest
def branches_on_data_and_other_lengths(folder):
    plain = Loop("masked", steps=16)
    watched = Watched(folder, "masked", "narrow", kinds=2, steps=16)
    assert watched.loop.same(plain)
    assert len(watched.step["more"]) == 1, watched.said.getvalue()
    assert watched.step["more"][0]["machine"] == watched.step["machine"], watched.step["more"][0]["machine"]
    plan = watched.plan(0.9)
    carrier, loop = carried(plan, "masked", "narrow", steps=16)
    assert loop.same(plain)
    contexts = carrier.account.contexts
    assert {context["kind"] for context in contexts} == {0, 1}
    assert all(context["extra"] == 0 and context["missing"] == 0 for context in contexts), contexts
    assert within_caps(carrier, plan)


@test_of_the_newest
def saved_tensors_are_on_the_host_while_it_records(folder):
    """Maps of 1 MiB and more: the device holds less than plain training does, and the recording is of plain training."""
    def maps(samples):
        return [torch.randn(samples, 128), torch.randn(samples, 128)]

    make = lambda: nn.Sequential(*[part for _ in range(12) for part in (nn.Linear(128, 128, bias=False), nn.Sigmoid())])
    NETWORKS["big"] = (make, lambda network, x, y: F.mse_loss(network(x), y), maps, 4096)
    watched = Watched(folder, "big", how="narrow", steps=3)
    assert watched.loop.same(Loop("big", steps=3))
    in_core = watched._plan(10 ** 9, "1 GB/s", "in-core")
    assert in_core["peak_bytes"] > 12 * (2 << 20), in_core["peak_bytes"]  # a map for each Sigmoid
    assert watched.watcher.peak < in_core["peak_bytes"] - 8 * (2 << 20), (watched.watcher.peak, in_core["peak_bytes"])
    carrier, loop = carried(dict(in_core, before={}), "big", "narrow", steps=2)
    assert max(context["counted_peak_bytes"] for context in carrier.account.contexts) <= in_core["peak_bytes"]


@test
def a_loop_that_fails_while_it_is_watched(folder):
    """An exception in forward, a loss that is None, a backward that never comes: nothing stays, and no kind is made of it."""
    watcher = spillway_torch.watch(os.path.join(folder, "none.json"), device="cpu")
    make, loss, draw, samples = NETWORKS["unet"]
    network = make().train()
    for _ in range(4):
        try:
            with watcher:
                network(draw(samples)[0])
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            assert nothing_left()
        with watcher:
            network(draw(samples)[0])
    assert not watcher.seen.by_calls and not watcher.finish()
    assert not os.path.exists(os.path.join(folder, "none.json")) and nothing_left()


@test
def plans_of_kinds_that_are_none_are_refused(folder):
    plan = {"format": "spillway-carry", "version": 1, "network": "x", "capacity_bytes": 1, "peak_bytes": 1,
            "step_time_ns": 1, "host_bytes": 0, "values": [], "calls": [], "before": {}}
    for more, words in ((7, "a list of plans"), ([3], "kind 2: no plan for PyTorch"), ([dict(plan, version=9)], "kind 2: version 9")):
        try:
            spillway_torch.apply(dict(plan, more=more))
        except spillway_torch.PlanError as error:
            assert words in str(error), error
        else:
            raise AssertionError(words)


class Alone:
    """A recording of `record`, planned."""

    def __init__(self, folder, name, share, change=None):
        make, loss, draw, samples = NETWORKS[name]
        torch.manual_seed(1)
        network, batch = make().train(), draw(samples)
        if change is not None:
            change(network)
        recorded = spillway_torch.record(lambda *parts: loss(network, *parts), batch,
                                         lambda: network.zero_grad(set_to_none=True), how="run", repetitions=2)
        watched = Watched.__new__(Watched)
        watched.path, watched.peak = os.path.join(folder, "alone.json"), None
        with open(watched.path, "w") as file:
            json.dump(recorded, file)
        self.plan = watched.plan(share)


def measured(number):
    """A change of a network: a mean of what its layer `number` gives."""
    def change(network):
        layers = [module for module in network.modules() if not list(module.children())]
        layers[number].register_forward_hook(lambda _, inputs, result: result.detach().abs().mean() and None)
    return change


def peaks(carrier):
    return [context["counted_peak_bytes"] for context in carrier.account.contexts]


@deep_test
def calls_more_and_calls_less_in_a_transformer(folder):
    """A mean after each layer in turn; and each such call recorded, then left out by the loop. Abs, mean, and its number."""
    plan = Alone(folder, "attention", 0.7).plan
    usual = max(peaks(carried(plan, "attention", "narrow", steps=1)[0]))
    layers = len([module for module in NETWORKS["attention"][0]().modules() if not list(module.children())])
    for number in range(layers):
        carrier, loop = carried(plan, "attention", "narrow", steps=1, change=measured(number))
        assert loop.same(Loop("attention", steps=1, change=measured(number))), number
        context = carrier.account.contexts[0]
        assert context["missing"] == 0 and context["extra"] == 3 and peaks(carrier)[0] <= usual * 1.1, (number, context)
        assert "watcher_test.py" in carrier.report() and "aten.mean.default" in carrier.account.places
        carrier, loop = carried(Alone(folder, "attention", 0.7, measured(number)).plan, "attention", "narrow", steps=1)
        assert loop.same(Loop("attention", steps=1)), number
        context = carrier.account.contexts[0]
        assert context["extra"] == 0 and context["missing"] == 3 and peaks(carrier)[0] <= usual * 1.1, (number, context)


@deep_test
def the_plan_is_on_again_at_the_next_context(folder):
    """Every second step loses the track in the middle of forward; those in between are as planned."""
    plan, count = Alone(folder, "unet", 0.65).plan, [0]

    def change(network):
        count[0] = 0

        def logs(_, inputs, result):
            count[0] += 1
            if count[0] % 2 == 0:
                for _ in range(40):
                    (result + 1).exp()  # autograd saves it: no metric
        network.bottom.register_forward_hook(logs)

    carrier, loop = carried(plan, "unet", "narrow", steps=4, change=change)
    assert loop.same(Loop("unet", steps=4, change=change))
    contexts = carrier.account.contexts
    assert [context["lost_at"] is not None for context in contexts] == [False, True, False, True]
    assert all(context["missing"] == 0 for context in contexts), contexts
    assert max(peaks(carrier)[::2]) <= plan["capacity_bytes"]


def parameters_after(step, carrier, name="unet", steps=2):
    """`step(network, forward)` trains once; forward() gives the loss of the step's batch."""
    make, loss, draw, samples = NETWORKS[name]
    torch.manual_seed(1)
    network = make().train()
    if carrier is not None:
        carrier.attach(network)
    train = step(network)
    for _ in range(steps):
        batch = draw(samples)
        train(lambda: loss(network, *batch))
    if carrier is not None:
        carrier.detach()
        assert nothing_left()
    return list(network.state_dict().values()) + [torch.get_rng_state()]


def by_closure(network):
    optimizer = torch.optim.LBFGS(network.parameters(), lr=0.1, max_iter=3)

    def train(forward):
        def closure():
            optimizer.zero_grad(set_to_none=True)
            loss = forward()
            loss.backward()
            return loss
        optimizer.step(closure)
    return train


def by_two_passes(network):
    """Sharpness-aware: a step up along the gradient, a second pass there, and back."""
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05)

    def train(forward):
        forward().backward()
        with torch.no_grad():
            moved = [(p, 0.01 * p.grad) for p in network.parameters()]
            for parameter, by in moved:
                parameter.add_(by)
        optimizer.zero_grad(set_to_none=True)
        forward().backward()
        with torch.no_grad():
            for parameter, by in moved:
                parameter.sub_(by)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return train


def inside_backward(network):
    """Each parameter is updated, and its gradient dropped, as soon as the gradient is there."""
    optimizers = {p: torch.optim.SGD([p], lr=0.05) for p in network.parameters()}

    def update(parameter):
        optimizers[parameter].step()
        optimizers[parameter].zero_grad(set_to_none=True)

    for parameter in network.parameters():
        parameter.register_post_accumulate_grad_hook(update)
    return lambda forward: forward().backward()


@deep_test
def closures_and_several_passes_and_updates_inside_backward(folder):
    plan = Alone(folder, "unet", 0.65).plan
    for step, contexts in ((by_closure, 6), (by_two_passes, 4), (inside_backward, 2)):
        if OLD and step is inside_backward:
            continue
        carrier = spillway_torch.apply(plan, device="cpu", count=True)
        found = parameters_after(step, carrier)
        assert all(torch.equal(a, b) for a, b in zip(found, parameters_after(step, None))), step.__name__
        told = carrier.account.contexts
        assert len(told) >= contexts and sum(c["matched"] > 90 and c["lost_at"] is None for c in told) == contexts, (step, told)
        assert max(peaks(carrier)) <= plan["capacity_bytes"] or step is by_closure, (step, peaks(carrier))  # its own vectors


@test
def the_mode_alone_changes_nothing(folder):
    """Of an empty plan: parameters, buffers, random state, and nothing copied or run again."""
    for name in list(NETWORKS) if DEEP else ["odd"]:
        make, loss, draw, samples = NETWORKS[name]
        empty = {"format": "spillway-carry", "version": 1, "network": name, "capacity_bytes": 1, "peak_bytes": 1,
                 "step_time_ns": 1, "host_bytes": 0, "values": [], "calls": [], "before": {}}
        carrier, loop = carried(empty, name, "wide", steps=3)
        assert loop.same(Loop(name, steps=3)), name
        assert all(context["out"] == context["replayed"] == context["emptied"] == 0 for context in carrier.account.contexts)


def top_hooks():
    """The pair of hooks for saved tensors that autograd asks; PyTorch 1.13 does not show it."""
    return torch._C._autograd._top_saved_tensors_default_hooks(True)


@test
def hooks_of_others_stay_on(folder):
    """Those that the loop pushed inside of a context, those around the model alone, and those of another watcher."""
    if OLD:
        return
    make, loss, draw, samples = NETWORKS["unet"]
    networks = [make().train() for _ in range(2)]
    watchers = [spillway_torch.watch(os.path.join(folder, "%d.json" % k), device="cpu") for k in range(2)]
    for watcher, network in zip(watchers, networks):
        watcher.attach(network)
    x = draw(samples)[0]
    with torch.autograd.graph.save_on_cpu():
        networks[0](x)
    watchers[0].end()
    assert top_hooks() is None  # the loop popped ours, so we pop the loop's
    kept = [network(x) for network in networks]
    watchers[0].end()
    assert top_hooks()[0].__self__ is watchers[1]
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor)
    with hooks:
        watchers[1].end()
        assert top_hooks()[0] is hooks.pack_hook
    assert top_hooks() is None and len(kept) == 2
    for watcher in watchers:
        watcher.detach()
    assert nothing_left()


@test
def a_call_that_fails_leaves_nothing_held(folder):
    watcher = spillway_torch.watch(os.path.join(folder, "none.json"), device="cpu")
    layer, x = nn.Linear(8, 8), torch.randn(2, 7)
    weak = weakref.ref(x)
    try:
        with watcher:
            layer(x)
        raise AssertionError("shapes that do not fit")
    except RuntimeError:
        pass
    del x
    gc.collect()
    assert watcher.call is None and weak() is None


def recorded_in_place(watcher, network, batches, optimizer=None):
    """The recording of a loop over `batches` under an attached watcher."""
    optimizer = optimizer or torch.optim.SGD(network.parameters(), lr=0.1)
    with contextlib.redirect_stderr(io.StringIO()):
        watcher.attach(network)
        for batch in batches:
            network(batch).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        watcher.finish()
    with open(watcher.path) as file:
        return json.load(file)


@test
def few_times_have_a_wide_error(folder):
    """Of batches that grow, only the last step counts: no spread is known."""
    for samples, alone in (((2, 3, 4, 5, 6, 7), True), ((4,) * 6, False)):
        watcher = spillway_torch.watch(os.path.join(folder, "few.json"), device="cpu")
        step = recorded_in_place(watcher, nn.Linear(8, 8).train(), [torch.randn(count, 8) for count in samples])
        steps = step["made"]["steps"]
        assert (steps == 1 and step["error"] == 0.15) if alone else steps >= 3, (steps, step["error"])
    assert spillway_torch.spread_of([[1.0, 2.0]] * 3) == 0.02


@test
def an_optimizer_without_foreach_is_noted(folder):
    for foreach, notes in ((False, ["optimizer without foreach: SGD (foreach=False)"]), (None, [])):
        network = nn.Linear(8, 8).train()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1, foreach=foreach)
        watcher = spillway_torch.watch(os.path.join(folder, "noted.json"), device="cpu", optimizer=optimizer)
        step = recorded_in_place(watcher, network, [torch.randn(4, 8) for _ in range(6)], optimizer)
        assert step["made"]["notes"] == notes, step["made"]


@test
def wrappers_of_backward_end_in_any_order(folder):
    """As on PyTorch 1.13, where a wrapper tells what backward calls."""
    lacks, plain = spillway_torch.LACKS["graph_task"], torch.autograd.backward
    spillway_torch.LACKS["graph_task"] = True
    first, second = spillway_torch.running_backward(), spillway_torch.running_backward()
    depths, x = [], torch.ones(1, requires_grad=True)
    result = x * 2
    result.register_hook(lambda _: depths.append((first._depth, second._depth)))
    try:
        for _ in range(3):
            first.__enter__()
            second.__enter__()
            result.backward(retain_graph=True)
            first.__exit__()
            result.backward(retain_graph=True)
            second.__exit__()
            assert torch.autograd.backward is plain
    finally:
        spillway_torch.LACKS["graph_task"] = lacks
    assert depths == [(1, 1), (0, 1)] * 3, depths


class Fails(torch.autograd.Function):
    """Its backward does, while `broken` says so."""
    broken = True

    @staticmethod
    def forward(context, x):
        return x * 1

    @staticmethod
    def backward(context, gradient):
        if Fails.broken:
            raise RuntimeError("backward fails")
        return gradient * 1


@test
def steps_whose_backward_fails_are_no_kind(folder):
    """Attached, nothing tells the watcher of the exception."""
    first, last = nn.Linear(8, 8), nn.Linear(8, 8)
    network = nn.Sequential(first, last).train()
    first.register_forward_hook(lambda _, inputs, result: Fails.apply(result))
    watcher = spillway_torch.watch(os.path.join(folder, "fails.json"), device="cpu").attach(network)
    for _ in range(6):
        try:
            network(torch.randn(2, 8)).sum().backward()
            raise AssertionError("backward fails")
        except RuntimeError:
            pass
    watcher.end()
    assert not watcher.seen.by_calls and not watcher.done
    Fails.broken = False
    step = recorded_in_place(watcher, network, [torch.randn(2, 8) for _ in range(4)])
    assert sum(node["op"] == "aten.mm.default" and node["pass"] == "backward" for node in step["nodes"]) == 3


@test
def a_teacher_is_not_the_model(folder):
    """A frozen network runs first in the context."""
    teacher, network = nn.Linear(8, 8).requires_grad_(False).eval(), nn.Sequential(nn.Linear(8, 8), nn.Tanh()).train()
    watcher = spillway_torch.watch(os.path.join(folder, "teacher.json"), device="cpu")
    with contextlib.redirect_stderr(io.StringIO()):
        for _ in range(4):
            x = torch.randn(4, 8)
            with watcher:
                with torch.no_grad():
                    wanted = teacher(x)
                F.mse_loss(network(x), wanted).backward()
        watcher.finish()
    with open(watcher.path) as file:
        step = json.load(file)
    assert step["graph"] == "Sequential", step["graph"]
    assert {"0.weight", "0.bias"} <= {value.get("name") for value in step["values"]}, step["values"]


def plan_of_nothing(step):
    """A plan that follows the calls of a recording, and moves nothing."""
    return {"format": "spillway-carry", "version": 1, "network": step["graph"], "strategy": "none", "capacity_bytes": 1,
            "peak_bytes": 1, "step_time_ns": 1, "host_bytes": 0, "values": step["values"], "calls": step["nodes"], "before": {}}


@test
def a_learned_tensor_beside_the_network(folder):
    """It has no place in the network to look for; another network is refused all the same."""
    network, beside = nn.Sequential(nn.Linear(8, 8), nn.Tanh()).train(), nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([*network.parameters(), beside], lr=0.1)

    def update():
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    step = spillway_torch.record(lambda x: (network(x) * beside).square().mean(), [torch.randn(4, 8)], update, how="run",
                                 repetitions=2)
    assert any(value.get("name", "").startswith("tensor") for value in step["values"]), step["values"]
    spillway_torch.apply(plan_of_nothing(step), device="cpu").attach(network).detach()
    try:
        spillway_torch.apply(plan_of_nothing(step), device="cpu").attach(nn.Sequential(nn.Linear(8, 9), nn.Tanh()))
        raise AssertionError("another network")
    except spillway_torch.PlanError as error:
        assert "has shape [9, 8]" in str(error), error


@test
def the_cost_is_measured_without_a_trace_in_the_batch(folder):
    network, x = nn.Linear(8, 8).train(), torch.randn(4, 8, requires_grad=True)
    x.grad = kept = torch.ones(4, 8)
    step = spillway_torch.record(lambda x: network(x).sum(), [x], None, how="run", repetitions=2, model=network)
    x.grad = kept
    kept.fill_(1.0)
    spillway_torch.measure_carrier(step, lambda x: network(x).sum(), [x], None, network, repetitions=2)
    assert x.grad is kept and torch.equal(kept, torch.ones(4, 8)), x.grad
    assert network.weight.grad is None


@test
def files_that_cannot_be_written(folder):
    """Refused at once; one that becomes so is told, and training goes on."""
    for path, words in ((os.path.join(folder, "none", "a.json"), "there is no folder"), (folder, "is a folder")):
        try:
            spillway_torch.watch(path, device="cpu")
            raise AssertionError(words)
        except spillway_torch.RecordError as error:
            assert words in str(error), error
    inner, said = os.path.join(folder, "inner"), io.StringIO()
    os.mkdir(inner)
    watcher = spillway_torch.watch(os.path.join(inner, "a.json"), device="cpu")
    os.rmdir(inner)
    network = nn.Linear(8, 8).train()
    with contextlib.redirect_stderr(said):
        for _ in range(8):
            with watcher:
                network(torch.randn(2, 8)).sum().backward()
            torch.optim.SGD(network.parameters(), lr=0.1).step()
    assert said.getvalue().count("cannot be written") == 1 and not watcher.done and nothing_left(), said.getvalue()
    watcher.path = os.path.join(folder, "b.json")
    with contextlib.redirect_stderr(said):
        assert watcher.finish()
    assert os.listdir(folder) == ["b.json"], os.listdir(folder)


@test
def reports_of_long_trainings_stay_short(folder):
    """The last hundred contexts are kept, ten of them stand in the text; sums are of all."""
    network, x = nn.Linear(8, 8).train(), torch.randn(2, 8)
    step = spillway_torch.record(lambda x: network(x).sum(), [x], None, how="run", repetitions=2, model=network)
    carrier = spillway_torch.apply(plan_of_nothing(step), device="cpu", count=True)
    for number in range(103):
        with carrier:
            network(x.repeat(1 if number else 9, 1)).sum().backward()
        network.zero_grad(set_to_none=True)
    told, text = carrier.account.dict(), carrier.report()
    assert len(told["contexts"]) == 100 and told["all_contexts"]["contexts"] == 103
    assert told["kinds"][0]["all_contexts"] == dict(told["all_contexts"], lost=0), told["kinds"]
    matched = told["contexts"][-1]["matched"]
    assert matched > 0 and told["all_contexts"]["matched"] == 103 * matched, told["all_contexts"]
    assert told["all_contexts"]["counted_peak_bytes"] > max(context["counted_peak_bytes"] for context in told["contexts"])
    assert "context 94: " in text and "context 103: " in text and "context 93: " not in text, text
    assert "103 contexts: %d calls matched" % (103 * matched) in text, text
    assert (os.sep + "torchvision" + os.sep) not in spillway_torch.LIBRARY and not (
        spillway_torch.LIBRARY.rstrip(os.sep) + "vision").startswith(spillway_torch.LIBRARY)


class Nested(nn.Module):
    """Rows of two lengths in one nested tensor."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        y = self.first(x).tanh()
        rows = self.last(torch.nested.as_nested_tensor([y[:2], y[2:]]))
        return torch.nested.to_padded_tensor(rows, 0.0).square()


def nested_gradients(carrier):
    torch.manual_seed(1)
    network, x = Nested().train(), torch.randn(5, 8)
    for _ in range(4):
        network.zero_grad(set_to_none=True)
        with carrier or contextlib.nullcontext():
            network(x).mean().backward()
    return [parameter.grad for parameter in network.parameters()]


@test
def nested_tensors_pass_by(folder):
    """They are no single piece of memory with one shape: neither followed nor moved."""
    if OLD:
        return
    plain, watcher = nested_gradients(None), spillway_torch.watch(os.path.join(folder, "nested.json"), device="cpu")
    with contextlib.redirect_stderr(io.StringIO()):
        watched = nested_gradients(watcher)
        watcher.finish()
    with open(watcher.path) as file:
        step = json.load(file)
    carrier = spillway_torch.apply(plan_of_nothing(step), device="cpu", count=True)
    for other in (watched, nested_gradients(carrier)):
        assert all(torch.equal(a, b) for a, b in zip(plain, other))
    assert any(layout["shape"] == [] for node in step["nodes"] for layout in node["inputs"])


def in_a_folder(case):
    with tempfile.TemporaryDirectory() as folder:
        case(folder)


def main():
    torch.set_num_threads(1)
    torch_cases.run({each.__name__: functools.partial(in_a_folder, each) for each in TESTS})


if __name__ == "__main__":
    main()
