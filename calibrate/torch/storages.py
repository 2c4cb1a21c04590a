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

    Asking every storage after every call would take the square of the calls. A round over all of them is spread over as
    many calls as keep the questions per call at QUESTIONS; the moment found is the last one at which it was seen alive.
    """

    QUESTIONS = 200

    def __init__(self):
        self._watched = []  # [weak reference, root id, number of the node before which it was last seen]
        self._place = 0
        self.seen_until = {}  # by root id, once dead

    def watch(self, tensor, root, node):
        self.follow(StorageWeakRef(storage_of(tensor)), root, node)

    def follow(self, life, root, node):
        """`life.expired()`: nobody holds the bytes any more."""
        self._watched.append([life, root, node])

    def ask(self, next_node):
        """Before a call runs: `next_node` is its number. What is alive then, is alive while the call runs."""
        for _ in range(min(self.QUESTIONS, len(self._watched))):
            if self._place >= len(self._watched):
                self._place = 0
                if not self._watched:
                    return
            entry = self._watched[self._place]
            if entry[0].expired():
                self.seen_until[entry[1]] = entry[2]
                self._watched[self._place] = self._watched[-1]
                self._watched.pop()
            else:
                entry[2] = next_node
                self._place += 1

    def close(self):
        """At the end of the step: roots that are still alive."""
        return {entry[1] for entry in self._watched if not entry[0].expired()}, {
            entry[1]: entry[2] for entry in self._watched if entry[0].expired()}
