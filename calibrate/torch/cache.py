"""The processor's caches: how much was touched since a call's operands were says what of them is still there."""
import glob

from peak import Lives

UNITS = {"K": 1 << 10, "M": 1 << 20}
UNKNOWN = 16 << 20
MOST = 64 << 20
NEVER = 1 << 60
CODE = 32 << 10  # bytes of a call's code: what a call with few bytes waits for


def bytes_of_cache():
    """Of the largest cache that the first processor has."""
    sizes = []
    for path in glob.glob("/sys/devices/system/cpu/cpu0/cache/index*/size"):
        try:
            with open(path) as text:
                word = text.read().strip()
            sizes.append(int(word[:-1]) * UNITS[word[-1]])
        except (OSError, ValueError, KeyError, IndexError):
            pass
    return max(sizes or [UNKNOWN])


class Cache:
    """`rooms`: bytes that calls of one round touch: near, within the last cache, and twice that cache."""

    def __init__(self, device):
        """A GPU's cache is small beside the tensors that matter: its calls are timed alone."""
        self.bytes = 0 if device.type == "cuda" else min(bytes_of_cache(), MOST)
        self.rooms = [self.bytes // 32, self.bytes // 4, 2 * self.bytes] if self.bytes else [0]

    def distance(self, place):
        """For which distance a measurement in that room stands: beyond the cache all is alike."""
        return min(self.rooms[place], self.bytes)


class Distances:
    """By node: pairs (bytes of a storage that it reads or makes, bytes touched since the storage was); its code is one.

    A storage counts as touched when the call begins that touches it: its first bytes wait for all of that call. Memory
    of new results counts as not in the cache: it was others' long ago.
    """

    def __init__(self, nodes, values):
        self._lives = Lives(nodes, values)
        self._nodes, self._clock, self._touched = nodes, 0, {}
        self._pass()  # the step before: its end is what this one begins with
        self.by_node = self._pass()

    def _pass(self):
        rows, size = [], self._lives.size
        for index, node in enumerate(self._nodes):
            used, fresh = self._lives.used(node), self._lives.fresh(node)
            row = [(size.get(name, 0), self._since(name)) for name in used] + [(size[name], NEVER) for name in fresh]
            rows.append(row + [(CODE, self._since(node["op"]))])
            self._touched.update((name, self._clock) for name in [node["op"]] + list(used) + fresh)
            self._clock += sum(bytes_of_one for bytes_of_one, _ in row)
            for name in self._lives.ends[index]:
                self._touched.pop(name, None)
        return rows

    def _since(self, name):
        return self._clock - self._touched.get(name, -NEVER)
