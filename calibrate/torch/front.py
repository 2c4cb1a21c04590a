"""record(): a training step as a dictionary for json.dump, which `spillway` plans."""
import datetime
import platform

import torch

from answers import SHARE_OF_FREE
from calling import call_steps, list_step
from foreach import foreach_notes
from found import Found
from machine import device_of, machine_of, memory_of_host
from mistakes import RecordError, check_batch, check_devices, check_forward, check_memory, check_modules
from peak import peak_of
from roles import parameters_of
from running import run_steps
from untouched import RandomState, Untouched

REPETITIONS = 9
NO_MEMORY = ("out of memory", "_STATUS_ALLOC_FAILED")  # as the allocator says it, and libraries for their workspaces


def record(forward, batch, update=None, how="auto", times="measured", name=None, samples=None, device=None, model=None,
           optimizer=None, small=None, repetitions=REPETITIONS):
    """One training step as a dictionary; json.dump writes it.

    forward(*batch) returns the loss; update() takes the optimizer's step and sets gradients to None. `how`: "run" runs
    several steps; "calls" lists the step without memory, then times each distinct call alone, or none of them with
    times=None; "auto" chooses. Networks and optimizers are found through the two functions; `model` and `optimizer` name
    those that cannot be. `small`: a smaller batch for numbers that forward reads from its tensors; by default the first
    two samples. Parameters, gradients, buffers, optimizers, scalers and random states are left bit for bit as they were.
    RecordError: says what to change.
    """
    check_forward(forward)
    check_batch(batch)
    if how not in ("auto", "run", "calls"):
        raise RecordError("how is '%s': 'auto', 'run' or 'calls'" % how)
    found = Found(forward, update, model, optimizer)
    check_modules(found.modules)
    parameters = [("'%s'" % label, tensor) for root in found.modules for label, tensor in root.named_parameters()]
    check_devices(parameters)
    if how == "run":
        check_memory(parameters)
    if not found.modules and not parameters_of(found):
        raise RecordError("no network was found behind forward: pass it, record(..., model=network)")
    device = torch.device(device) if device else place_of(found, batch)
    job = Job(found, forward, list(batch), update, device, small, times, repetitions)
    before, gradients = RandomState(), [tensor.grad for tensor in batch]
    try:
        step, made = {"auto": job.auto, "run": job.run, "calls": job.calls}[how]()
        return written(step, made, name or title(found), samples or batch[0].shape[0], device)
    finally:
        before.put_back()
        for tensor, gradient in zip(batch, gradients):
            tensor.grad = gradient


class Job:
    """What is to be recorded, and the ways to do it. Each returns (recorder, keys of `made`)."""

    def __init__(self, found, forward, batch, update, device, small, times, repetitions):
        self.found, self.forward, self.batch, self.update = found, forward, batch, update
        self.device, self.small, self.times, self.repetitions = device, small, times, repetitions
        self.notes = foreach_notes(found.optimizers)

    def run(self):
        self._tell_gradients()
        with Untouched(self.found) as before:
            before.set_aside_gradients()
            step = run_steps(self.found, self.forward, self.batch, self.update, self.device, self.repetitions)
        step.notes = self.notes
        return step, {"how": "run", "times": "measured", "steps": self.repetitions}

    def calls(self):
        listed = self._listed()
        call_steps(listed, self.device, self.times, self.notes)
        return listed, {"how": "calls", "times": "assumed" if self.times is None else "calls", "steps": 1}

    def auto(self):
        if any(tensor.is_meta for tensor in parameters_of(self.found)):
            return self.calls()
        if self.device.type == "cuda":
            try:
                return self.run()
            except RuntimeError as error:
                if isinstance(error, RecordError) or not any(word in str(error) for word in NO_MEMORY):
                    raise
                self.notes.append("the step does not fit this device: listed and timed call by call")
            torch.cuda.empty_cache()
            return self.calls()
        listed = self._listed()
        free = memory_of_host()[1]
        peak = peak_of(listed)
        if self.times is not None and free is not None and peak <= SHARE_OF_FREE * free:
            return self.run()
        self.notes.append("not run: a peak of %.2f GB" % (peak / 1e9))
        call_steps(listed, self.device, self.times, self.notes)
        return listed, {"how": "calls", "times": "assumed" if self.times is None else "calls", "steps": 1}

    def _listed(self):
        self._tell_gradients()
        return list_step(self.found, self.forward, self.batch, self.update, self.device, self.small, self.notes)

    def _tell_gradients(self):
        told = "gradients that were there were set aside: the step begins without"
        if told not in self.notes and any(tensor.grad is not None for tensor in parameters_of(self.found)):
            self.notes.append(told)


def place_of(found, batch):
    for tensor in parameters_of(found):
        if not tensor.is_meta:
            return tensor.device
    return batch[0].device if not batch[0].is_meta else torch.device("cpu")


def title(found):
    return " and ".join(type(root).__name__ for root in found.modules) or "step"


def readable(name):
    """A name of letters that spillway reads."""
    kept = "".join(letter if letter.isascii() and (letter.isalnum() or letter in " _.:/+@#-[],") else "-" for letter in name)
    return kept.strip(" -,")[:200] or "step"


def written(step, made, name, samples, device, measure=True):
    """The file's keys in their order. `measure`: the machine too, which makes calls and copies."""
    day = str(datetime.date.today())
    facts = device_of(device, step.nodes)
    how = {"measured": "median of %d steps" % made["steps"], "calls": "each distinct call alone",
           "assumed": "no call was run: times are by bytes moved"}[made["times"]]
    where = "%s, PyTorch %s, %d threads, %s, %s" % (facts["name"], torch.__version__, torch.get_num_threads(), day, how)
    kind = "assumed" if made["times"] == "assumed" else "measured"
    recording = {"format": "spillway-step", "version": 2, "graph": readable(name), "samples": samples, "source": {kind: where},
                 "error": step.error}
    recording["made"] = dict(made, torch=str(torch.__version__), python=platform.python_version(), date=day,
                             notes=step.notes)
    recording["device"], recording["machine"] = facts, machine_of(device, measure and made["times"] != "assumed")
    if step.allocator_peak:
        recording["allocator_peak_bytes"] = step.allocator_peak
    recording.update((key, value) for key, value in (("unseen", step.unseen), ("varies", step.varies)) if value)
    if device.type == "cpu":  # loops move a batch to the device before the step, and hold it there
        for value in step.values:
            value["where"] = "device"
    recording.update(values=step.values, nodes=step.nodes)
    return recording
