"""A step recorded by running it several times on its device."""
import math
import statistics

import torch

from clocks import EventClock, HostClock, MemoryClock, Timer
from mistakes import NumbersNeeded, check_alike, check_timed
from recorder import Recorder
from roles import classify, named_tensors, parameters_of, states_of

LEAST_ERROR = 0.02  # a repetition a moment later says little about another day
FEW, ERROR_OF_FEW = 3, 0.15  # fewer repetitions show no spread: what one step may be off on a busy machine
WARM_UP, LISTED = 2, 3  # steps that do not count, and those that are listed


def one_step(found, forward, batch, update, clock, answers=None, on_call=None):
    """Records one step of the user's objects as they are, and classifies its results."""
    gradients = set()
    recorder = Recorder(batch, named_tensors(found), found.modules, clock, answers, on_call)
    recorder.after_backward = lambda: gradients.update(
        recorder.name_of(each.grad) for each in parameters_of(found) if each.grad is not None)
    try:
        recorder.step(forward, batch, update)
    except NumbersNeeded as needed:
        needed.bytes_alive = recorder.bytes_alive()
        raise
    states = {recorder.name_of(state) for _, _, state in states_of(found)}
    classify(recorder, gradients, states)
    return recorder


def spread_of(times):
    """Of the sum of all nodes from one repetition to the next: the relative distance of a typical one from the median."""
    if len(times) < FEW:
        return ERROR_OF_FEW
    sums = sorted(sum(row) for row in times)
    middle = statistics.median(sums)
    if middle <= 0:
        return LEAST_ERROR
    return max(LEAST_ERROR, statistics.median(abs(math.log(total / middle)) for total in sums) * 1.4826)


def run_steps(found, forward, batch, update, device, repetitions):
    """The recorder of the first step that counts, with the median of each call's seconds. RecordError: steps are not alike.

    Some steps are listed, which are compared; the others are timed alone.
    """
    on_gpu = device.type == "cuda"
    first, scalars, times, clock = None, [], [], None
    for number in range(WARM_UP + min(LISTED, repetitions)):
        clock = MemoryClock(device) if on_gpu else HostClock()
        step = one_step(found, forward, batch, update, clock)
        without_gradients(found, update)
        if number < WARM_UP:
            continue
        first = first or step
        check_alike(first.nodes, step.nodes, number - WARM_UP + 1)
        scalars.append([node["scalars"] for node in step.nodes])
    for number in range(repetitions):
        timer = Timer(first.calls, EventClock(device) if on_gpu else HostClock())
        timer.step(forward, batch, update)
        without_gradients(found, update)
        check_timed(first, timer, len(scalars) + number + 1)
        times.append(timer.seconds)
    for index, node in enumerate(first.nodes):
        node["ns"] = round(1e9 * statistics.median(row[index] for row in times))
        if on_gpu and clock.workspaces[index]:
            node["workspace"] = clock.workspaces[index]
    first.error, first.varies = round(spread_of(times), 3), varying(first.nodes, scalars)
    first.allocator_peak = getattr(clock, "peak", None)
    return first


def without_gradients(found, update):
    """An update sets gradients to None; without one they are taken away, so that steps are alike."""
    for parameter in parameters_of(found) if update is None else ():
        parameter.grad = None


def varying(nodes, scalars):
    """Scalars that change from step to step, as the optimizer's step number does."""
    found = []
    for index, node in enumerate(nodes):
        for place in range(len(node["scalars"])):
            values = [step[index][place] for step in scalars if place < len(step[index])]
            if any(value != values[0] for value in values):
                found.append({"node": node["id"], "argument": place, "values": values})
    return found
