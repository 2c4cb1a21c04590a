"""The processor's last cache: what of a call's operands is still in it depends on how much was touched since."""
import glob

import torch

UNITS = {"K": 1 << 10, "M": 1 << 20}
UNKNOWN = 16 << 20
OF_GPU = 0  # a GPU's cache is small beside the tensors that matter


def bytes_of_cache():
    """Of the largest cache that the first processor has."""
    sizes = [UNKNOWN]
    for path in glob.glob("/sys/devices/system/cpu/cpu0/cache/index*/size"):
        try:
            with open(path) as text:
                word = text.read().strip()
            sizes.append(int(word[:-1]) * UNITS[word[-1]])
        except (OSError, ValueError, KeyError, IndexError):
            pass
    return max(sizes[1:] or sizes)


class Cache:
    def __init__(self, device):
        self.bytes = OF_GPU if device.type == "cuda" else min(bytes_of_cache(), 64 << 20)
        self.least = max(self.bytes // 256, 1 << 16)  # calls on fewer bytes are not timed without it
        self._other = None

    def empty(self):
        """Writes over the cache."""
        if self._other is None:
            self._other = torch.zeros(max(1, 2 * self.bytes // 4))
        self._other.add_(1.0)

    def absent_shares(self, nodes, values):
        """By node: which share of the bytes that it reads were touched so long ago that they are gone."""
        size = {value["id"]: value["bytes"] for value in values}
        root, touched, clock, shares = {}, {}, 0, []
        for node in nodes:
            reads = {root.get(name, name) for name in node["deps"]}
            total = sum(size.get(name, 0) for name in reads)
            gone = sum(size.get(name, 0) for name in reads if clock - touched.get(name, -self.bytes - 1) > self.bytes)
            shares.append(gone / total if total else 0.0)
            for result in node["results"]:
                begun = root.get(result.get("in_place"), result.get("in_place")) or result["id"]
                root[result["id"]] = begun
                if "bytes" in result:
                    size[begun] = result["bytes"]
                reads.add(begun)
            clock += sum(size.get(name, 0) for name in reads)
            touched.update((name, clock) for name in reads)
        return shares
