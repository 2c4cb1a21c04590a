"""Distinct calls timed in rounds, in the step's order: between two runs of one call others run, as they do in a step.

The calls of a round share a room of so many bytes. So when a call's turn comes, that many bytes have been touched since
its operands were. Rooms are those of Cache: near, in the last cache, and beyond it.
"""
import time

import torch

from alone import Alone, Prepared

LEAST_ROUNDS, MOST_ROUNDS, SECONDS = 4, 15, 0.05  # of a room: rounds at least, at most, and how long
LONG, ROUNDS_OF_LONG = 0.2, 2  # seconds of a round that is long, and how often it is timed


def on_host(function, args, kwargs):
    begin = time.perf_counter()
    result = function(*args, **kwargs)
    return time.perf_counter() - begin, result


def on_gpu(function, args, kwargs):
    pair = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    pair[0].record()
    result = function(*args, **kwargs)
    pair[1].record()
    pair[1].synchronize()
    return pair[0].elapsed_time(pair[1]) / 1e3, result


def time_alone(calls, device, cache, memory):
    """An Alone for each call. Needs room for the largest call, and twice the cache. `memory`: a FreshMemory."""
    known = [Alone(call) for call in calls]
    with torch.enable_grad():  # else recurrent layers leave out what backward reads; no operand asks for a gradient
        for place, room in enumerate(cache.rooms):
            last = place + 1 == len(cache.rooms)
            wanted = [alone for alone in known
                      if not alone.failed and (last or alone.call.bytes < cache.distance(place + 1))]
            for group in grouped(wanted, room):
                time_group(group, device, cache.distance(place), memory)
    return known


def grouped(known, room):
    """Neighbours that fill a room together."""
    group, filled = [], 0
    for alone in known:
        if group and filled + alone.call.bytes > room:
            yield group
            group, filled = [], 0
        group.append(alone)
        filled += alone.call.bytes
    if group:
        yield group


def time_group(group, device, distance, memory):
    seconds_of = on_gpu if device.type == "cuda" else on_host
    ready = those_that_run(group, lambda alone: Prepared(alone, device))
    spent, rounds, least = 0.0, 0, LEAST_ROUNDS
    while ready and (rounds < least or (spent < SECONDS and rounds < MOST_ROUNDS)):
        ready = those_that_run(ready, lambda each: each.run(seconds_of))
        took = sum(each.times[-1] for each in ready)
        spent, rounds = spent + took, rounds + 1
        least = ROUNDS_OF_LONG if took > LONG else LEAST_ROUNDS
    for each in ready:
        each.tell(max(distance, each.alone.call.bytes), memory)


def those_that_run(things, run):
    """What `run` gives of each. A call fails where contents are not what it takes, or where there is no room for it."""
    made = []
    for thing in things:
        try:
            made.append(run(thing))
        except Exception:
            getattr(thing, "alone", thing).fails()
    return made
