"""What a carrier refuses, and what it says once: tests for carrier_test.py, which runs them."""
import copy
import json
import os
import random
import threading
import warnings

import torch
from torch import nn

import spillway_torch
from carrier_hand import HAND, plan_of
from carrier_networks import NETWORKS, UNet

SMALL = HAND[2]  # a network with batch norm
TOLD = []
EDITS = 600 if "SPILLWAY_DEEP" in os.environ else 60


def told(function):
    TOLD.append(function)
    return function


def small_plan():
    return plan_of(SMALL, spillway_torch.record, True)


def refused(call, *words):
    try:
        call()
    except spillway_torch.PlanError as error:
        assert all(word in str(error) for word in words), error
    else:
        raise AssertionError("not refused: %s" % (words,))


def said_by(carrier, step):
    """What the carrier says in a step. It says the same to the warnings, once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            with carrier:
                step()
    ours = [str(each.message) for each in caught if "Spillway" in str(each.message)]
    assert ours == ["Spillway: " + text for text in carrier.account.said], ours
    assert all(text in carrier.report() for text in carrier.account.said)
    return carrier.account.said


@told
def another_network_is_not_attached_to(plans):
    """Other names, other shapes, networks on several devices; but inside a wrapper, or the part that was recorded."""
    plan = plans.plan("unet", 0.8)
    carrier = spillway_torch.apply(plan, device="cpu")
    refused(lambda: carrier.attach(nn.Linear(3, 3)), "parameter 'down.0.0.weight' is missing", "record this network", "more)")
    wider = UNet()
    wider.head = nn.Conv2d(8, 2, 1)
    refused(lambda: carrier.attach(wider), "'head.weight' has shape [2, 8, 1, 1], recorded [1, 8, 1, 1]")
    renamed = UNet()
    renamed.heap = renamed.head
    del renamed.head
    refused(lambda: carrier.attach(renamed), "'head.weight' is missing (nearest: 'heap.weight')")
    refused(lambda: carrier.attach(nn.DataParallel(UNet())), "the network is DataParallel", "CUDA_VISIBLE_DEVICES=0")
    assert carrier.attached is None and not carrier.open
    wrapper = nn.Module()
    wrapper.net, wrapper.other = UNet(), nn.Linear(2, 2)
    for good in (UNet(), wrapper, wrapper.net):
        carrier.attach(good).detach()


@told
def a_host_too_small_for_the_slab(plans):
    refused(lambda: spillway_torch.apply(dict(small_plan(), host_bytes=1 << 50), device="cpu"), "1125899.9 GB of host memory",
            "GB are free", "--memory")


@told
def plans_edited_into_nonsense(plans):
    """Each is refused, or it trains as without a plan."""
    plan = small_plan()
    text = json.dumps(plan)
    draw = random.Random(4)
    refusals = 0
    for _ in range(EDITS):
        content = json.loads(text)
        part, key = content, draw.choice(list(content))
        while isinstance(part[key], (dict, list)) and part[key] and draw.random() < 0.8:
            part = part[key]
            key = draw.choice(list(part)) if isinstance(part, dict) else draw.randrange(len(part))
        junk = draw.choice([None, -1, "x", [], {}, 1.5, [["out"]], True, 1 << 70, [[[]]]])
        if draw.random() < 0.2:
            del part[key]
        else:
            part[key] = junk
        try:
            carrier = spillway_torch.apply(content, device="cpu")
        except spillway_torch.PlanError as error:
            refusals += "plan again" in str(error) or "expected" in str(error) or "host memory" in str(error)
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert equal(carrier), (key, junk)
    assert refusals > EDITS / 3, refusals


def gradients(carrier, make=SMALL):
    torch.manual_seed(1)
    network = make().train()
    x = torch.randn(6, 8)
    with carrier:
        network(x).square().mean().backward()
    return [parameter.grad for parameter in network.parameters() if parameter.grad is not None] + list(network.buffers())


def equal(carrier):
    import contextlib
    return all(torch.equal(a, b) for a, b in zip(gradients(carrier), gradients(contextlib.nullcontext())))


def carrier_and_network():
    torch.manual_seed(1)
    return spillway_torch.apply(small_plan(), device="cpu"), SMALL().train()


@told
def compiled_networks_and_containers_are_named(plans):
    carrier, network = carrier_and_network()
    spread = nn.DataParallel(network)
    said = said_by(carrier, lambda: spread(torch.randn(6, 8)).square().mean().backward())
    assert any("DataParallel spreads" in text and ".module" in text for text in said), said
    if not hasattr(torch, "compile") or torch.__version__.startswith("2.0"):
        return
    for make in (lambda network: torch.compile(network, backend="eager"),
                 lambda network: torch.compile(lambda x: network(x), backend="eager")):
        carrier, network = carrier_and_network()
        compiled = make(network)
        said = said_by(carrier, lambda: compiled(torch.randn(6, 8)).square().mean().backward())
        assert any("torch.compile runs uncompiled" in text and "compare" in text for text in said), said
    carrier, network = carrier_and_network()
    carrier.attach(torch.compile(network, backend="eager")).detach()


@told
def hooks_of_others_are_named(plans):
    if not hasattr(torch._C._autograd, "_top_saved_tensors_default_hooks"):
        return
    carrier, network = carrier_and_network()

    def step():
        with torch.autograd.graph.save_on_cpu():
            loss = network(torch.randn(6, 8)).square().mean()
        loss.backward()

    said = said_by(carrier, step)
    assert len(said) == 1 and "save_on_cpu take what autograd saves" in said[0] and "carrier_told.py" in said[0], said


@told
def a_backward_in_another_thread_is_named(plans):
    carrier, network = carrier_and_network()

    def step():
        thread = threading.Thread(target=network(torch.randn(6, 8)).square().mean().backward)
        thread.start()
        thread.join()

    said = said_by(carrier, step)
    assert any("backward runs in another thread" in text for text in said), said


class Full(torch.utils._python_dispatch.TorchDispatchMode):
    """Below the carrier: memory ends at the third call of a name."""

    def __init__(self, name):
        super().__init__()
        self.name, self.calls = name, 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.calls += self.name in str(function)
        if self.calls == 3:
            raise getattr(torch, "OutOfMemoryError", torch.cuda.OutOfMemoryError)("CUDA out of memory. Tried to allocate 2 GiB")
        return function(*args, **(kwargs or {}))


@told
def out_of_memory_names_the_cap_to_try_next(plans):
    plan = plans.plan("unet", 0.8)
    make, loss, draw, samples = NETWORKS["unet"]
    for name in ("convolution.default", "convolution_backward"):
        network, carrier = make().train(), spillway_torch.apply(plan, device="cpu")
        with warnings.catch_warnings(), Full(name):
            warnings.simplefilter("ignore")
            try:
                with carrier:
                    loss(network, *draw(samples)).backward()
            except RuntimeError as error:
                text = str(error)
            else:
                raise AssertionError("no error")
        assert text.startswith("CUDA out of memory") and text.count("Spillway: memory ended at call '") == 1, text
        assert "plan again for" in text and "of what it was" in text, text
        cap = spillway_torch.next_cap(carrier.plan, carrier.matcher.clock, spillway_torch.counted(carrier.store))
        assert 0 < cap < plan["capacity_bytes"]
        assert carrier.account.said and not carrier.open
    with carrier:  # the next step is one as any other
        loss(copy.deepcopy(network), *draw(samples)).backward()
    assert carrier.account.contexts[-1]["missing"] == 0


@told
def a_lost_track_and_extra_calls_are_told_with_their_place(plans):
    carrier = spillway_torch.apply(plans.plan("unet", 0.8), device="cpu")
    make, loss, draw, _ = NETWORKS["attention"]
    network = make().train()
    said = said_by(carrier, lambda: loss(network, *draw(2)).backward())
    assert len(said) == 1 and "before its call '0:convolution.default' in module 'down.0.0'" in said[0], said
    carrier, network = carrier_and_network()
    with carrier:
        result = network(torch.randn(6, 8))
        result.detach().abs()
        result.square().mean().backward()
    places = carrier.account.dict()["extra_places"]["aten.abs.default"]
    assert len(places) == 1 and "carrier_told.py:" in places[0], places
    assert "not recorded: aten.abs.default, 1 times, at" in carrier.report()


@told
def a_life_that_ends_after_its_reader_is_recorded_to_the_call(plans):
    """Among a thousand storages: what a call read is asked for before each of the next calls."""
    lives = spillway_torch.Lifetimes()
    tensors = [torch.ones(1) for _ in range(1000)]
    for number, tensor in enumerate(tensors):
        lives.watch(tensor, "%d.0" % number, number)
        lives.ask(number + 1)
    for call in range(1000, 1100):
        lives.read(["%d.0" % (call - 900)], call)
        lives.ask(call + 1)
        tensors[call - 900] = tensor = None  # the loop's variable held one as well
        lives.ask(call + 2)
        assert lives.seen_until["%d.0" % (call - 900)] == call + 1, call
