"""What a loop does between two looks of the carrier: autocast around it, writes after a context, pieces that go on.

Networks here are small, and plans made by hand. Tests for carrier_test.py.
"""
import contextlib

import torch
from torch import nn

import spillway_torch
from carrier_hand import plan_of

BEHIND = []


def behind(function):
    BEHIND.append(function)
    return function


class Small(nn.Module):
    """`kept`: what the user holds of a step."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)
        self.kept = None


class WithoutAutocast(Small):
    def forward(self, x):
        with torch.autocast("cpu", enabled=False):
            return self.second(self.first(x).exp()).tanh()


class Detached(Small):
    def forward(self, x):
        x = self.first(x)
        self.kept = x.detach()
        return (x * 2).exp().tanh()


class DetachedUnsound(Small):
    """No call makes it again: what it was made from is overwritten."""

    def forward(self, x):
        x = self.first(x)
        y = x * 1.5
        self.kept = y.detach()
        with torch.no_grad():
            x.add_(1)
        return y.exp().tanh()


def loss_of(network, x):
    return network(x).square().mean()


def plan_with(make, before, **more):
    """The plan of a step whose actions are `before`: by index of the call."""
    plan = plan_of(make, spillway_torch.record, True)
    return dict(plan, before={plan["calls"][index]["id"]: actions for index, actions in before.items()}, **more)


def plan_of_step(step, before):
    """A plan as carrier_hand's, of any recording."""
    return {"format": "spillway-carry", "version": 1, "network": "step", "strategy": "hand", "capacity_bytes": 1,
            "peak_bytes": 1, "step_time_ns": 1, "host_bytes": 1 << 20, "values": step["values"], "calls": step["nodes"],
            "before": before}


def made_in(plan, phase):
    """Indices of the calls of a phase, and the names of what they make."""
    calls = [(index, call) for index, call in enumerate(plan["calls"]) if call["pass"] == phase]
    return [index for index, _ in calls], [result["id"] for _, call in calls for result in call["results"] if "bytes" in result]


def started(make):
    torch.manual_seed(1)
    return make().train(), torch.randn(6, 8)


def gradients(network):
    return [parameter.grad for parameter in network.parameters() if parameter.grad is not None]


def same(plain, ours):
    return len(plain) == len(ours) > 0 and all(torch.equal(a, b) for a, b in zip(plain, ours))


def under_autocast(context, backward_inside):
    network, x = started(WithoutAutocast)
    with context:
        with torch.autocast("cpu", torch.bfloat16):
            loss = loss_of(network, x)
            if backward_inside:
                loss.backward()
        if not backward_inside:
            loss.backward()
    return gradients(network)


@behind
def calls_run_again_as_they_were_cast(plans):
    """Autocast around backward too, and a part of forward without it: the second run must not cast again."""
    whole = plan_of(WithoutAutocast, spillway_torch.record, False)
    (index, *_), names = made_in(whole, "backward")[0], made_in(whole, "forward")[1]
    late = plan_with(WithoutAutocast, {index: [["leave", name] for name in names[:3]]}, host_bytes=0)
    for inside in (False, True):
        plain = under_autocast(contextlib.nullcontext(), inside)
        for plan in (late, whole):
            carrier = spillway_torch.apply(plan, device="cpu")
            assert same(plain, under_autocast(carrier, inside)), inside
            assert carrier.store.counts["replayed"] > 0
        assert not torch.is_autocast_enabled() and not torch.is_autocast_cpu_enabled()


def overwritten_after(make, carrier, again):
    """What the user holds is overwritten after the context, or in the next one, and backward comes then."""
    network, x = started(make)
    if carrier:
        carrier.begin()
    loss = loss_of(network, x)
    if carrier:
        carrier.end()
    if again and carrier:
        carrier.begin()
    with torch.no_grad():
        network.kept.add_(1)
    loss.backward()
    if carrier:
        carrier.end()
    return gradients(network)


@behind
def a_source_overwritten_after_the_context(plans):
    """What was to be made again from it has its bytes by then; the device does not."""
    for make in (Detached, DetachedUnsound):
        plain = overwritten_after(make, None, False)
        plan = plan_of(make, spillway_torch.record, False)
        name = next(call["results"][0]["id"] for call in plan["calls"] if call["op"].startswith("aten.exp."))
        index = next(k for k, call in enumerate(plan["calls"]) if call["op"].startswith("aten.tanh.")) + 1
        plan = dict(plan, before={plan["calls"][index]["id"]: [["leave", name]]})
        for again in (False, True):
            carrier = spillway_torch.apply(plan, device="cpu")
            assert same(plain, overwritten_after(make, carrier, again)), (make, again)


class KeptResult(Small):
    def forward(self, x):
        self.kept = (self.first(x) * 2).exp()
        return self.kept.tanh()


@behind
def a_write_between_two_backwards_is_refused(plans):
    """After the plan's last action too."""
    plan = plan_of(KeptResult, spillway_torch.record, True)
    name = next(call["results"][0]["id"] for call in plan["calls"] if call["op"].startswith("aten.exp."))
    index = next(k for k, call in enumerate(plan["calls"]) if call["op"].startswith("aten.tanh.")) + 1
    plan = dict(plan, before={plan["calls"][index]["id"]: [["out", name], ["leave", name]]})
    network, x = started(KeptResult)
    carrier = spillway_torch.apply(plan, device="cpu")
    with carrier:
        loss = loss_of(network, x)
        loss.backward(retain_graph=True)
        with torch.no_grad():
            network.kept.mul_(2)
        try:
            loss.backward()
        except RuntimeError as error:
            assert "modified by an inplace operation" in str(error)
        else:
            raise AssertionError("no error")
    assert carrier.store.counts["out"] == 1


@behind
def actions_in_the_update_are_done(plans):
    """Between its first call and its last: what is due later counts, not only what is due now."""
    def run(before):
        network, x = started(KeptResult)
        optimizer = torch.optim.SGD(network.first.parameters(), lr=0.1, momentum=0.9, foreach=False)

        def update():
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

        step = spillway_torch.record(lambda x: loss_of(network, x), [x], update, how="run", repetitions=2)
        carrier = before and spillway_torch.apply(plan_of_step(step, before(step)), device="cpu")
        for number in range(3):  # the first makes the optimizer's state
            with carrier if carrier and number else contextlib.nullcontext():
                loss_of(network, x).backward()
                update()
        assert not carrier or carrier.store.counts["out"] == carrier.store.counts["in"] == 1, carrier.store.counts
        return [parameter.detach() for parameter in network.parameters()]

    def late(step):
        name = made_in({"calls": step["nodes"]}, "backward")[1][-1]
        reader = max(k for k, call in enumerate(step["nodes"]) if name in call["deps"])
        return {step["nodes"][reader - 1]["id"]: [["out", name], ["leave", name]]}

    assert same(run(None), run(late))


def pinned(carrier):
    return sorted(str(buffer.base) for buffer in carrier.store.by_key.values() if buffer.pinned and buffer.storage() is not None)


@behind
def an_evaluation_before_the_step_holds_nothing(plans):
    """Its calls were matched first, and what the plan holds was held for it."""
    plan = plan_of(KeptResult, spillway_torch.record, True)
    network, x = started(KeptResult)
    carrier = spillway_torch.apply(dict(plan, before={}, held=["1.0"]), device="cpu")
    with carrier:
        with torch.no_grad():
            loss_of(network, x)
        assert pinned(carrier) == ["1.0"]
        loss = loss_of(network, x)
        assert pinned(carrier) == ["1.0"], pinned(carrier)
        loss.backward()


class OtherEnd(KeptResult):
    """Another kind of step: it begins with the same calls."""

    def forward(self, x):
        return super().forward(x).sigmoid()


@behind
def another_kind_holds_what_its_own_plan_holds(plans):
    """Not what it has released by then, nor what the kind before it held; what was saved by then too."""
    calls = [plan_of(make, spillway_torch.record, True) for make in (KeptResult, OtherEnd)]
    ids = [call["id"] for call in calls[1]["calls"]]
    other = dict(calls[1], held=["0.0", "2.0"], before={ids[2]: [["release", "0.0"]]})
    for held, action in ((["0.0", "1.0"], []), ([], [["in", "1.0"]])):
        plan = dict(calls[0], held=held, before={calls[0]["calls"][2]["id"]: action}, more=[other])
        network, x = started(OtherEnd)
        carrier = spillway_torch.apply(plan, device="cpu")
        with carrier:
            loss = loss_of(network, x)
            assert carrier.plan is carrier.plans[1] and pinned(carrier) == ["2.0"], pinned(carrier)
            network.kept = None
            loss.backward()
            assert pinned(carrier) == ["2.0"], pinned(carrier)
        plain, x = started(OtherEnd)
        loss_of(plain, x).backward()
        assert same(gradients(plain), gradients(network))
