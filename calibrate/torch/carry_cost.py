"""What carrying out costs: the host's time of a call under a carrier, beyond that of a call without."""
import time

import torch

from calls import tensors_in
from carry import apply
from found import Found
from roles import parameters_of
from untouched import RandomState, Untouched


def measure_carrier(step, forward, batch, update=None, model=None, optimizer=None, repetitions=7):
    """Nanoseconds; also put under `machine` of the recording, from where plans take them.

    Trains plainly and under a carrier without actions in turn, and leaves everything as it was, as record() does.
    """
    found, random = Found(forward, update, model, optimizer), RandomState()
    carrier = apply(idle_plan(step))
    plain, carried = [], []
    gradients = [(tensor, tensor.grad) for tensor in leaves_of(batch)]
    try:
        with Untouched(found) as before:
            before.set_aside_gradients()
            for tensor, _ in gradients:
                tensor.grad = None
            for _ in range(repetitions + 1):
                plain.append(seconds_of(found, forward, batch, update))
                carrier.begin()
                carried.append(seconds_of(found, forward, batch, update, carrier))
    finally:
        carrier.end()
        random.put_back()
        for tensor, gradient in gradients:
            tensor.grad = gradient
    more = min(carried[1:]) - min(plain[1:])  # the least disturbed of each
    matched = max(context["matched"] for context in carrier.account.contexts)
    cost = max(0, round(1e9 * more / max(1, matched)))
    for kind in [step, *step.get("more", [])]:
        kind.setdefault("machine", {})["carried_call_ns"] = cost
    return cost


def seconds_of(found, forward, batch, update, carrier=None):
    """Of the host, for forward and backward; what a GPU still has to do does not count."""
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()
    begin = time.perf_counter()
    forward(*batch).backward()
    took = time.perf_counter() - begin
    if carrier is not None:
        carrier.end()
    if update is not None:
        update()
    for leaf in parameters_of(found) + leaves_of(batch):
        leaf.grad = None
    return took


def leaves_of(batch):
    """What of a batch gets gradients."""
    return [tensor for tensor in tensors_in(list(batch)) if tensor.requires_grad and tensor.is_leaf]


def idle_plan(step):
    """A plan that moves nothing, but follows every call as others do: one small tensor is held."""
    makers = [result for node in step["nodes"] if node.get("pass", "forward") == "forward" for result in node["results"]
              if "bytes" in result]
    least = min(makers, key=lambda result: result["bytes"])
    return {"format": "spillway-carry", "version": 1, "network": step["graph"], "strategy": "none", "capacity_bytes": 1,
            "peak_bytes": 0, "step_time_ns": 0, "host_bytes": 0, "unseen": step.get("unseen", []), "held": [least["id"]],
            "before": {}, "values": step["values"], "calls": step["nodes"]}
