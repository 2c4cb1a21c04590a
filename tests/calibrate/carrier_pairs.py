"""Two carriers in one loop: one carries its plan out, the other stays out and says so. Tests for carrier_test.py."""
import contextlib
import os
import warnings

import torch

import spillway_torch
from carrier_networks import NETWORKS

PAIRS = []


def pair(function):
    PAIRS.append(function)
    return function


def both_orders(plans):
    """Pairs of plans that recompute and swap, each first."""
    made = [plans.plan("unet", 0.9, "1 GB/s", "recompute-all"), plans.plan("unet", 0.65)]
    return [(made[0], made[1]), (made[1], made[0]), (made[0], made[0])]


def trained(prepare, around=contextlib.nullcontext):
    """Losses and gradients of three steps; `prepare(network)` before them, `around()` is a context for each."""
    make, loss, draw, samples = NETWORKS["unet"]
    torch.manual_seed(1)
    network, found = make().train(), []
    optimizer = torch.optim.SGD(network.parameters(), 0.1)
    prepare(network)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3):
            batch = draw(samples)
            with around():
                result = loss(network, *batch)
                result.backward()
            found += [result.detach()] + [parameter.grad.clone() for parameter in network.parameters()]
            optimizer.step()
            optimizer.zero_grad()
    return found


def same(ours, plain):
    return len(ours) == len(plain) and all(torch.equal(a, b) for a, b in zip(ours, plain))


def carriers(plans):
    return [spillway_torch.apply(plan, device="cpu") for plan in plans]


def told(carrier):
    return ["another carrier or watcher is open" in text for text in carrier.account.said]


def nothing(_):
    pass


@pair
def of_two_contexts_the_inner_stays_out(plans):
    plain = trained(nothing)
    for made in both_orders(plans):
        outer, inner = carriers(made)

        @contextlib.contextmanager
        def around():
            with outer, inner:
                yield

        assert same(trained(nothing, around), plain)
        assert told(inner) == [True] and told(outer) == [] and not inner.open
        assert len(outer.account.contexts) == 3 and not inner.account.contexts


@pair
def an_attached_carrier_stays_out_of_a_context(plans):
    plain = trained(nothing)
    for made in both_orders(plans):
        outer, attached = carriers(made)
        assert same(trained(attached.attach, lambda: outer), plain)
        attached.detach()
        assert told(attached) == [True] and len(outer.account.contexts) == 3 and not attached.account.contexts


@pair
def a_second_attach_takes_the_first_one_off(plans):
    """Carriers and a watcher; one that was taken off may be attached to another network."""
    plain = trained(nothing)
    for made in both_orders(plans):
        first, second = carriers(made)
        assert same(trained(lambda network: (first.attach(network), second.attach(network))), plain)
        second.end()  # PyTorch 1.13 has no hook before an optimizer's step
        assert first.attached is None and not first.account.contexts and len(second.account.contexts) == 3
        other = NETWORKS["unet"][0]()
        second.attach(other)
        assert same(trained(first.attach), plain) and second.attached
        first.end()
        assert len(first.account.contexts) == 3
        second.detach()
        first.detach()
    watcher = spillway_torch.watch(os.path.join(plans.folder, "watched.json"), device="cpu")
    carrier = carriers(made)[0]
    assert same(trained(lambda network: (watcher.attach(network), carrier.attach(network))), plain)
    carrier.end()
    assert watcher.attached is None and len(carrier.account.contexts) == 3
    carrier.detach()
    assert not spillway_torch.ATTACHED


@pair
def a_watcher_stays_out_of_a_carrier(plans):
    plain, carrier = trained(nothing), carriers(both_orders(plans)[1])[0]
    watcher = spillway_torch.watch(os.path.join(plans.folder, "inner.json"), device="cpu")

    @contextlib.contextmanager
    def around():
        with carrier, watcher:
            yield

    assert same(trained(nothing, around), plain)
    assert watcher.told_out and not watcher.open and len(carrier.account.contexts) == 3


@pair
def an_attached_carrier_that_waits_makes_room(plans):
    """Two networks, a carrier each: after its backward the first ends, and the second one's plan is carried out."""
    plain, plan = trained(nothing), plans.plan("unet", 0.65)
    first, second = carriers([plan, plan])
    make, loss, draw, samples = NETWORKS["unet"]
    other = make().train()
    first.attach(other)

    @contextlib.contextmanager
    def around():
        state = torch.get_rng_state()
        loss(other, *draw(samples)).backward()
        torch.set_rng_state(state)
        yield

    assert same(trained(second.attach, around), plain)
    first.detach()
    second.detach()
    assert len(first.account.contexts) == len(second.account.contexts) == 3 and not second.account.said
