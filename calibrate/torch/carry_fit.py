"""Whether a plan, a network and this machine belong together: asked when a carrier is made, or attached.

PlanError says what does not fit, where, and what to do.
"""
import difflib
import re

from carry_copies import Copies, Slab, StreamedCopies
from carry_plan import PlanError
from machine import memory_of_host
from mistakes import SEVERAL, ancestors

OF_ROOT = re.compile(r"\w*[A-Za-z_]\d+\.")  # what the recorder puts before names where it found several networks
BESIDE = re.compile(r"tensor\d+")  # its names for learned tensors of no module


def check_host(size):
    """The slab of host memory that copies go through is taken once, and has to fit."""
    _, free = memory_of_host()
    if free is not None and size > free:
        raise no_slab(size, "%.1f GB are free" % (free / 1e9))


def no_slab(size, why):
    return PlanError("the plan swaps through %.1f GB of host memory, which cannot be had (%s): free some, or plan with fewer "
                     "swaps: more device memory (--memory), or --strategy recompute-all" % (size / 1e9, why))


def copies_for(device, size):
    """Copies through a slab of `size` bytes, which are made here. PlanError: the host has not so many."""
    pinned = device.type == "cuda"
    check_host(size)
    try:
        slab = Slab(size, pinned)
        return StreamedCopies(slab, device) if pinned else Copies(slab)
    except RuntimeError as error:
        raise no_slab(size, str(error).split("\n")[0])


def check_model(model, plan):
    """Refuses networks spread over devices, and those with other parameters than the recording has."""
    for path, module in model.named_modules():
        kind = next((name for name in ancestors(module) if name in SEVERAL), None)
        if kind:
            raise PlanError("attach: %s is %s: a plan is carried out on one device; attach the network inside, .module, and "
                            "show one GPU (CUDA_VISIBLE_DEVICES=0)" % ("module '%s'" % path if path else "the network", kind))
    recorded = recorded_parameters(plan)
    if recorded:
        _check_parameters(model, recorded, plan)


def recorded_parameters(plan):
    """Of modules, by name: (bytes, shape, or None where no call shows it)."""
    shapes = _shapes_of(plan)
    return {value["name"]: (value["bytes"], shapes.get(value["id"])) for value in plan.values.values()
            if value.get("class") == "weight" and "name" in value and not BESIDE.fullmatch(value["name"])}


def _shapes_of(plan):
    """By value: the shape in which an update overwrites it. Other calls may read a view."""
    shapes, root = {}, {}
    for node, call in zip(plan.nodes, plan.calls):
        inputs = node.get("inputs") or []
        into = {root.get(of, of) for _, of in call.results if of is not None}
        for operand, name in zip(inputs, call.deps) if len(inputs) == len(call.deps) else ():
            if root.get(name, name) in into and root.get(name, name) in plan.values:
                shapes.setdefault(root.get(name, name), list(operand["shape"]))
        root.update((name, root.get(of, of)) for name, of in call.results if of is not None)
    return shapes


def _check_parameters(model, recorded, plan):
    found = {}
    for path, module in model.named_modules(remove_duplicate=False):
        for name, parameter in module._parameters.items():
            if parameter is not None:
                whole = (path + "." if path else "").replace("_orig_mod.", "") + name
                found[whole] = (parameter.numel() * parameter.element_size(), list(parameter.shape))
    if all(_mismatches(found, recorded, inner, outer) for inner, outer in _prefixes(found, recorded)):
        wrong = _mismatches(found, recorded, "", "")
        more = " (and %d more)" % (len(wrong) - 1) if len(wrong) > 1 else ""
        raise PlanError("attach: the network is not the one that was recorded as '%s': %s%s; record this network, and plan again"
                        % (plan.graph, wrong[0], more))


def _prefixes(found, recorded):
    """Pairs: what the recording's names begin with, and what the network's do, where one lies inside the other."""
    first = next(iter(recorded))
    inner = {""} | {match.group() for match in map(OF_ROOT.match, recorded) if match}
    inner |= {name[:-len(own)] for own in list(found)[:1] for name in recorded if name.endswith("." + own)}
    outer = {""} | {name[:-len(first)] for name in found if name.endswith("." + first)}
    return [(a, b) for a in inner for b in outer]


def _mismatches(found, recorded, inner, outer):
    wrong = []
    for name, (size, shape) in recorded.items():
        if not name.startswith(inner):
            continue
        own = outer + name[len(inner):]
        if own not in found:
            near = difflib.get_close_matches(own, found, 1)
            wrong.append("parameter '%s' is missing%s" % (own, " (nearest: '%s')" % near[0] if near else ""))
        elif shape is not None and shape != found[own][1]:
            wrong.append("parameter '%s' has shape %s, recorded %s" % (own, found[own][1], shape))
        elif size != found[own][0]:
            wrong.append("parameter '%s' has %d bytes, recorded %d" % (own, found[own][0], size))
    return wrong
