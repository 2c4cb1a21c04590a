"""What a tensor is to the user: weight, gradient, state, buffer; and what each result of a step turns out to be."""
import torch


def named_tensors(found):
    """Pairs (tensor, role) of what is there before a step. Parameters are named as `named_parameters` does."""
    pairs, names = [], {}
    several = len(found.modules) > 1
    for index, root in enumerate(found.modules):
        prefix = "%s%d." % (type(root).__name__, index) if several else ""
        for name, parameter in root.named_parameters():
            names.setdefault(id(parameter), prefix + name)
            pairs.append((parameter, {"class": "weight", "name": prefix + name}))
        pairs += [(buffer, {"class": "buffer", "name": prefix + name}) for name, buffer in root.named_buffers()]
    for tensor in list(parameters_of(found)):
        if id(tensor) not in names:
            names[id(tensor)] = "tensor%d" % len(names)
            pairs.append((tensor, {"class": "weight", "name": names[id(tensor)]}))
    for tensor in parameters_of(found):
        if tensor.grad is not None:
            pairs.append((tensor.grad, {"class": "gradient", "name": names[id(tensor)]}))
    return pairs + [(state, {"class": "state", "name": "%s.%s" % (names.get(id(owner), "state"), key)})
                    for owner, key, state in states_of(found)]


def parameters_of(found):
    """Every leaf that may get a gradient, once."""
    leaves = [parameter for root in found.modules for parameter in root.parameters()]
    leaves += [tensor for each in found.optimizers for group in each.param_groups for tensor in group["params"]]
    leaves += [tensor for tensor in found.tensors if tensor.requires_grad and tensor.is_leaf]
    return list({id(tensor): tensor for tensor in leaves}.values())


def states_of(found):
    """(parameter, key, tensor) of the optimizers' states and (None, key, tensor) of scalers."""
    for optimizer in found.optimizers:
        for owner, state in optimizer.state.items():
            for key, value in (state.items() if isinstance(state, dict) else ()):
                if isinstance(value, torch.Tensor):
                    yield owner, key, value
    for other in found.others:
        for key, value in vars(other).items():
            if isinstance(value, torch.Tensor):
                yield None, key.strip("_"), value


def classify(recorder, gradients, states):
    """Puts `class` and `held_until` on the results of a recorded step. `gradients`, `states`: ids of their storages."""
    phase = {node["id"]: node["pass"] for node in recorder.nodes}
    root, last_read, made, last_name = {}, {}, {}, {}
    for node in recorder.nodes:
        for name in node["deps"]:
            last_read[root.get(name, name)] = node["id"]
        for result in node["results"]:
            begun = root.get(result.get("in_place"), result.get("in_place")) or result["id"]
            root[result["id"]] = begun
            last_read[begun] = node["id"]
            last_name[begun] = result
            if "bytes" in result:
                made[begun] = (node, result)
    for begun, (node, result) in made.items():
        until = "end" if begun in recorder.alive_at_end else recorder.seen_until.get(begun)
        later = phase.get(last_read[begun]) if until is None or until == "end" else phase.get(until)
        if until is not None and until != last_read[begun] and is_later(until, last_read[begun]):
            last_name[begun]["held_until"] = until
        if begun in gradients:
            result["class"] = "gradient"
        elif begun in states:
            result["class"] = "state"
        else:
            saved = node["pass"] == "forward" and "backward" in (later, phase.get(last_read[begun]))
            result["class"] = "saved" if saved else "temporary"


def is_later(node, other):
    return node == "end" or int(node.split(":")[0]) > int(other.split(":")[0])
