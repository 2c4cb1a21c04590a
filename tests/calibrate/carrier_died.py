"""Values that a plan moves and that died, as a step that deviates lets them: nothing brings them back, and no error comes.

Networks here are small, and plans made by hand. Tests for carrier_test.py.
"""
import contextlib

import torch
from torch import nn
from torch.nn import functional as F

import spillway_torch

DIED = []


def died(function):
    DIED.append(function)
    return function


class TwoHeads(nn.Module):
    """Recorded with the loss of a second head, whose dropout overwrites what it reads. Without it the head saves nothing long."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.both = True

    def forward(self, x):
        x = self.first(x).tanh()
        dropped = F.dropout(self.second(x), 0.3, inplace=True)
        result, other = self.third(x).exp().tanh(), dropped.tanh().exp()
        loss = result.square().mean()
        return loss + other.mean() if self.both else loss


class LaterAdded(nn.Module):
    """What is added in place is made after what it is added to, and nothing saves it."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        out, identity = self.first(x), self.second(x)
        out += identity
        return torch.relu_(out).exp().mean()


class Recorded:
    """A step of a network, and plans by hand for it."""

    def __init__(self, make):
        torch.manual_seed(1)
        self.make, network = make, make()

        def update():
            network.zero_grad(set_to_none=True)

        self.step = spillway_torch.record(network, [torch.randn(6, 8)], update, how="run", repetitions=1)
        self.calls = self.step["nodes"]

    def name(self, number):
        return self.calls[number]["results"][0]["id"]

    def plan(self, before):
        return {"format": "spillway-carry", "version": 1, "network": "n", "strategy": "hand", "capacity_bytes": 1, "peak_bytes": 1,
                "step_time_ns": 1, "host_bytes": 1 << 20, "values": self.step["values"], "calls": self.calls, "held": [],
                "before": {self.calls[number]["id"]: actions for number, actions in before.items()}}

    def trained(self, context, **changed):
        torch.manual_seed(1)
        network, found = self.make(), []
        for key, value in changed.items():
            setattr(network, key, value)
        for _ in range(2):
            with context:
                loss = network(torch.randn(6, 8))
                loss.backward()
            found += [loss.detach()] + [p.grad for p in network.parameters() if p.grad is not None]
            network.zero_grad(set_to_none=True)
        return found + [torch.get_rng_state()]

    def same(self, plan, policy, **changed):
        """Equal bits; the carrier's counts of the last step."""
        carrier = spillway_torch.apply(plan, policy, device="cpu")
        ours, plain = self.trained(carrier, **changed), self.trained(contextlib.nullcontext(), **changed)
        assert len(ours) == len(plain) and all(torch.equal(a, b) for a, b in zip(ours, plain)), (plan["before"], policy, changed)
        return carrier.account.contexts[-1]


class Holding(nn.Module):
    """Whose activations the user's own list holds."""

    def __init__(self):
        super().__init__()
        self.layers, self.held = nn.ModuleList(nn.Linear(8, 8) for _ in range(4)), []

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).tanh()
            self.held.append(x.detach())
        return x.square().mean()


def moved(recorded):
    """Plans that move what only the second head saves: by the host, and by calls that run again."""
    calls, index = recorded.calls, {call["results"][0]["id"]: number for number, call in enumerate(recorded.calls)}
    exp = max(number for number, call in enumerate(calls) if "exp." in call["op"] and call["pass"] == "forward")
    tanh, backward = index[calls[exp]["deps"][0]], next(k for k, call in enumerate(calls) if call["pass"] == "backward")
    mask = next(number for number, call in enumerate(calls) if "empty_like" in call["op"])
    saved, late = recorded.name(tanh), backward + 7
    yield {exp: [["out", saved]], exp + 1: [["leave", saved]], late: [["in", saved]]}
    yield {exp + 1: [["leave", saved]], late - 1: [["again", calls[tanh]["id"]]]}
    yield {exp + 1: [["leave", saved], ["leave", recorded.name(exp)]],
           late - 1: [["again", calls[tanh]["id"]], ["again", calls[exp]["id"]]]}
    yield {exp: [["out", recorded.name(mask)]], exp + 1: [["leave", recorded.name(mask)]], late: [["in", recorded.name(mask)]]}


@died
def a_loss_term_less_lets_what_the_plan_moves_die(plans):
    """Its head's values leave, and die; the plan asks for them all the same."""
    recorded = Recorded(TwoHeads)
    for before in moved(recorded):
        for policy in ("offload", "keep"):
            usual = recorded.same(recorded.plan(before), policy)
            assert usual["extra"] == usual["missing"] == 0 and usual["in"] + usual["replayed"] > 0, (before, usual)
            less = recorded.same(recorded.plan(before), policy, both=False)
            assert less["missing"] > 0 and less["in"] == 0 and less["replayed"] <= usual["replayed"], (before, less)


@died
def what_a_call_that_ran_early_made_is_not_made_again(plans):
    """The call that adds in place has made its operand for itself."""
    recorded = Recorded(LaterAdded)
    backward = next(k for k, call in enumerate(recorded.calls) if call["pass"] == "backward")
    counts = recorded.same(recorded.plan({backward: [["leave", recorded.name(0)]]}), "offload")
    assert counts["replayed"] == 4, "out, identity, the sum and relu_, once each: %s" % counts


@died
def another_kind_names_what_calls_overwrote_by_its_first_name(plans):
    recorded = Recorded(TwoHeads)
    calls, first = recorded.calls, next(k for k, call in enumerate(recorded.calls) if "empty_like" in call["op"])
    assert calls[first + 2]["results"][0]["in_place"] == recorded.name(first + 1), calls[first + 2]
    plan = spillway_torch.CarriedPlan(recorded.plan({first + 4: [["leave", recorded.name(first)]],
                                                     first + 6: [["again", calls[first + 2]["id"]]]}), "here")
    assert spillway_torch.away_at(plan, first + 5) == {recorded.name(first): False}
    assert spillway_torch.pinned_at(plan, first + 5) == set() and spillway_torch.away_at(plan, first + 6) == {}
    assert spillway_torch.pinned_at(plan, first + 6) == {recorded.name(first)}


@contextlib.contextmanager
def no_room():
    """Whatever comes back finds no memory: what it would fill is full of other bytes by then."""
    plain = spillway_torch.Copies.back, spillway_torch.Caught.run

    def full(_, buffer, target):
        spillway_torch.over(target).fill_(255)
        raise MemoryError("no room")

    def run(*_):
        raise MemoryError("no room")

    spillway_torch.Copies.back, spillway_torch.Caught.run = full, run
    try:
        yield
    finally:
        spillway_torch.Copies.back, spillway_torch.Caught.run = plain


@died
def what_a_failed_end_left_away_is_filled_in_the_next_context(plans):
    """It came back neither from the host nor by its call; with a ticket and without one, the next reader gets its bytes."""
    recorded = Recorded(Holding)
    tanh = [number for number, call in enumerate(recorded.calls) if call["op"] == "aten.tanh.default"]
    name = recorded.name(tanh[0])
    for copied in (True, False):
        for ticket in (True, False):
            before = {tanh[2]: ([["out", name]] if copied else []) + [["leave", name]]}
            carrier = spillway_torch.apply(recorded.plan(before), device="cpu")
            torch.manual_seed(1)
            network, x = recorded.make(), torch.randn(6, 8)
            expected = network.layers[0](x).tanh().detach()
            try:
                with no_room(), carrier:
                    loss = network(x)
                    held = network.held[0]
                    assert carrier.store.counts["emptied"] == 1
                    if not ticket:
                        del loss
            except MemoryError:
                pass
            else:
                raise AssertionError("the end did not fail")
            with carrier:
                assert torch.equal(held + 0, expected), (copied, ticket)
            if ticket:
                loss.backward()
                gradient = network.layers[1].weight.grad
                network.zero_grad(set_to_none=True)
                network(x).backward()
                assert torch.equal(gradient, network.layers[1].weight.grad), copied
