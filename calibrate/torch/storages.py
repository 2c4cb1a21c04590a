"""Names of storages while a step runs, and until when their bytes stay alive."""
from torch.multiprocessing.reductions import StorageWeakRef

from versions import storage_of


class Names:
    """By storage: the id that it has now. Addresses come back after a free, so dead storages are kept known as dead."""

    def __init__(self):
        self._now = {}  # by address: id
        self._weak = {}  # by address: keeps the address from being used again
        self._root = {}  # by id: the id under which the bytes were made

    @staticmethod
    def key(tensor):
        return storage_of(tensor)._cdata

    def get(self, tensor):
        return self._now.get(self.key(tensor))

    def knows(self, tensor):
        return self.key(tensor) in self._now

    def call(self, tensor, name):
        key = self.key(tensor)
        if key not in self._now:
            self._weak[key] = StorageWeakRef(storage_of(tensor))
        before = self._now.get(key)
        self._root[name] = self._root.get(before, name)
        self._now[key] = name

    def root(self, name):
        return self._root.get(name, name)

    def alive(self):
        """Ids of all storages whose bytes somebody still holds."""
        return [name for key, name in self._now.items() if not self._weak[key].expired()]


class Lifetimes:
    """Which node was the last to begin while a storage was alive.

    Asking every storage after every call would take the square of the calls. Most storages die soon after a call read
    them, so those are asked before each of the next RECENT calls. A round over all others is spread over as many calls as
    keep the questions per call at QUESTIONS; the moment found is the last one at which it was seen alive.
    """

    QUESTIONS = 200
    RECENT = 12  # calls: autograd holds what a node saved until the node's last call is over

    def __init__(self):
        self._watched = []  # [life, root id, number of the node before which it was last seen, place or None]
        self._place = 0
        self._entry, self._recent = {}, {}  # by root id: its entry; the number of the node that read it last
        self.seen_until = {}  # by root id, once dead

    def watch(self, tensor, root, node):
        self.follow(StorageWeakRef(storage_of(tensor)), root, node)

    def follow(self, life, root, node):
        """`life.expired()`: nobody holds the bytes any more."""
        self._entry[root] = [life, root, node, len(self._watched)]
        self._watched.append(self._entry[root])
        self._recent[root] = node

    def read(self, roots, node):
        for root in roots:
            if root in self._entry:
                self._recent[root] = node

    def ask(self, next_node):
        """Before a call runs: `next_node` is its number. What is alive then, is alive while the call runs."""
        for root, node in list(self._recent.items()):
            if not self._alive(self._entry[root], next_node) or next_node - node > self.RECENT:
                self._recent.pop(root, None)
        for _ in range(min(self.QUESTIONS, len(self._watched))):
            if self._place >= len(self._watched):
                self._place = 0
                if not self._watched:
                    return
            if self._alive(self._watched[self._place], next_node):
                self._place += 1

    def _alive(self, entry, next_node):
        if not entry[0].expired():
            entry[2] = next_node
            return True
        self.seen_until[entry[1]] = entry[2]
        last = self._watched.pop()
        if last is not entry:
            self._watched[entry[3]], last[3] = last, entry[3]
        del self._entry[entry[1]]
        self._recent.pop(entry[1], None)
        return False

    def close(self):
        """At the end of the step: roots that are still alive."""
        return {entry[1] for entry in self._watched if not entry[0].expired()}, {
            entry[1]: entry[2] for entry in self._watched if entry[0].expired()}
