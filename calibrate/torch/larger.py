"""Results whose storage is larger than fakes say, by what the library's own calls take first and then shrink."""
import torch

from calls import tensors_in
from restrided import reach
from versions import storage_of


def of_broadcast(args, results):
    """A loss is made element by element, and its storage stays when it becomes one number."""
    return [torch.broadcast_shapes(args[0].shape, args[1].shape).numel() * results[0].element_size()]


def of_input(args, results):
    return [args[0].numel() * results[0].element_size()]


def of_target(args, results):
    return [args[1].numel() * results[0].element_size()]


def of_bags(_, results):
    """On a processor alone: one index more, and the largest indices of bags whatever the mode."""
    if len(results) != 4 or results[0].device.type != "cpu":
        return []
    return [0, (results[1].numel() + 1) * results[1].element_size(), 0, storage_of(results[2]).nbytes()]


LARGER = {"aten.mse_loss.default": of_broadcast, "aten.smooth_l1_loss.default": of_broadcast,
          "aten.soft_margin_loss.default": of_target, "aten.binary_cross_entropy.default": of_input,
          "aten.col2im.default": of_input, "aten._embedding_bag.default": of_bags}


def least_bytes(tensor):
    """What the tensor reaches: a storage of fakes may be too small for its own elements."""
    if tensor.is_nested or tensor.layout != torch.strided or not tensor.numel():
        return 0
    return reach(tensor) * tensor.element_size()


class Larger:
    """Sees the calls of a step of fakes; then `correct` gives its nodes' results their bytes."""

    def __init__(self):
        self._by_node = []

    def see(self, index, function, args, kwargs, result):
        given = {storage_of(tensor)._cdata for tensor in tensors_in((args, kwargs))}
        fresh = {storage_of(tensor)._cdata: tensor for tensor in tensors_in(result)}
        fresh = [tensor for key, tensor in fresh.items() if key not in given]
        sizes = [least_bytes(tensor) for tensor in fresh]
        rule = LARGER.get(str(function))
        whole = rule(args, fresh) if rule and fresh else []
        self._by_node.append((index, [max(pair) for pair in zip(sizes, whole)] if len(whole) == len(sizes) else sizes))

    def correct(self, nodes):
        for index, sizes in self._by_node:
            fresh = [result for result in nodes[index]["results"] if "bytes" in result]
            if len(fresh) == len(sizes):
                for result, size in zip(fresh, sizes):
                    result["bytes"] = max(result["bytes"], size)
