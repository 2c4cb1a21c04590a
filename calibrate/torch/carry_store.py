"""The store: which buffers are on the device, how they leave, and how they come back.

Nothing here decides. `leave` and `bring` do what a plan asks for, as far as that is safe; whoever needs a buffer that is
away gets it back by `storage_of`. So a mistaken plan costs memory or time, never numbers.
"""
import torch

from carry_buffers import Buffer
from carry_storage import alive, over, untyped_of


class Store:
    def __init__(self, copies, empty_held, ran_again):
        self.copies = copies          # carry_copies.Copies
        self.ran_again = ran_again    # called with the store and the bytes of scratch after each call that ran again
        self.empty_held = empty_held  # whether storages that the user's variables hold may be emptied
        self.by_key = {}              # by the storage's address; the Buffer's weak reference keeps it from being used again
        self.order = 0
        self.counts = {"out": 0, "in": 0, "again": 0, "replayed": 0, "emptied": 0, "kept": 0, "fetched": 0}

    # Names of storages.

    def add(self, storage, outer):
        buffer = Buffer(storage, self.order, outer)
        self.order += 1
        self.by_key[buffer.key] = buffer
        return buffer

    def known(self, tensor):
        """The Buffer of the tensor's storage, None if the storage is new."""
        buffer = self.by_key.get(untyped_of(tensor)._cdata)
        if buffer is None or (buffer.emptied is None and buffer.hold is None and buffer.weak.expired()):
            return None
        return buffer

    def find(self, tensor):
        return self.known(tensor) or self.add(untyped_of(tensor), True)

    # Away and back.

    def out(self, buffer, beyond=False):
        """A copy to the host begins; without room there the buffer stays. `beyond`: the slab may be full."""
        storage = buffer.storage()
        if storage is None or buffer.host is not None or buffer.outer:
            return
        buffer.host = self.copies.out(storage, beyond)
        if buffer.host is None:
            self.counts["kept"] += 1
        else:
            self.counts["out"] += 1

    def leave(self, buffer):
        """The device's bytes go if they can come back: from the host, or by the calls that made them."""
        buffer.pinned = False
        storage = buffer.storage()
        if storage is None or buffer.outer:
            return
        if buffer.host is None and not can_run_again(buffer):
            self.counts["kept"] += 1
            return
        self.copies.await_arrival(buffer)
        if buffer.host is not None:
            self.copies.left(buffer.host)
        buffer.hold = None
        del storage
        held = alive(buffer.weak)
        if held is not None and not self._empty(buffer, held):
            return
        if held is None and buffer.tickets == 0:
            return  # it died by itself
        buffer.away = True
        if buffer.host is None:
            for operand in operands_of(buffer):
                operand.dependents.add(buffer)

    def _empty(self, buffer, storage):
        if not self.empty_held:
            return False
        try:
            storage.resize_(0)
        except RuntimeError:  # numpy looks into it, or another process
            self.counts["kept"] += 1
            return False
        buffer.emptied = buffer.weak
        self.counts["emptied"] += 1
        return True

    def bring(self, buffer, pin):
        """The plan wants the buffer on the device, until it says otherwise."""
        if buffer.outer or (buffer.storage() is None and not buffer.away and not buffer.makers):
            return
        storage = self.storage_of(buffer)
        if pin:
            buffer.pinned, buffer.hold = True, storage

    def storage_of(self, buffer):
        """The buffer's storage, filled; work on the current stream may read it."""
        storage = buffer.storage()
        if storage is None:
            storage = self._fetch(buffer) if buffer.host is not None else self._run_again(buffer)
        self.copies.await_arrival(buffer)
        return storage

    def _fetch(self, buffer):
        self.counts["in"] += 1
        target = self._emptied(buffer)
        storage = self.copies.back(buffer, target)
        self._returned(buffer, storage)
        return storage

    def _emptied(self, buffer):
        """The user's storage at its full size again, unless nobody holds it any more."""
        held = alive(buffer.emptied) if buffer.emptied is not None else None
        if held is not None:
            held.resize_(buffer.nbytes)
        return held

    def _returned(self, buffer, storage):
        if storage._cdata != buffer.key:
            if self.by_key.get(buffer.key) is buffer:
                del self.by_key[buffer.key]
            buffer.bind(storage)
            self.by_key[buffer.key] = buffer
        buffer.away, buffer.emptied = False, None
        if buffer.wanted():
            buffer.hold = storage
        if buffer.host is None:
            for operand in operands_of(buffer):
                operand.dependents.discard(buffer)

    # Recomputation.

    def _run_again(self, buffer):
        """Everything that is missing is made in the order in which it was made first; what nobody wants goes again."""
        missing = self._missing(buffer)
        readers = {}  # by id of a missing buffer: those still to be made from it
        for made in missing:
            for operand in operands_of(made):
                readers[id(operand)] = readers.get(id(operand), 0) + 1
        scratch = {}
        for made in missing:
            if made.storage() is None and id(made) not in scratch:
                scratch[id(made)] = self._make(made, scratch)
            for operand in operands_of(made):
                readers[id(operand)] -= 1
                if readers[id(operand)] == 0 and operand is not buffer:
                    scratch.pop(id(operand), None)
        return buffer.storage() if id(buffer) not in scratch else scratch[id(buffer)]

    def _missing(self, buffer):
        seen, todo = {id(buffer): buffer}, [buffer]
        while todo:
            for operand in operands_of(todo.pop()):
                if operand.storage() is None and operand.host is None and id(operand) not in seen:
                    seen[id(operand)] = operand
                    todo.append(operand)
        return sorted(seen.values(), key=lambda b: b.order)

    def _make(self, buffer, scratch):
        """Runs the calls that made the buffer, into a storage of its own or the user's emptied one."""
        if not buffer.makers:
            raise RuntimeError("Spillway: a value that is needed again has no call that made it (%s)" % buffer.base)
        made = None

        def tensor_of(operand):
            if operand.buffer is buffer:
                return operand.place.over(made)
            kept = scratch.get(id(operand.buffer))
            return operand.place.over(kept if kept is not None else self.storage_of(operand.buffer))

        for call, index in buffer.makers:
            self.counts["replayed"] += 1
            results = call.run(tensor_of)
            self.ran_again(self, list(scratch.values()), results)
            if index is not None:
                made = untyped_of(results[index])
                self._fill_others(call, results, buffer)
            del results
        return self._adopt(buffer, made)

    def _adopt(self, buffer, made):
        target = self._emptied(buffer)
        if target is not None:
            with torch.no_grad():
                over(target).copy_(over(made))
            made = target
        self._returned(buffer, made)
        return made

    def _fill_others(self, call, results, buffer):
        """Other results of the same call that are away and wanted come back with it."""
        for index, weak in call.fills:
            other = weak()
            if other is None or other is buffer or not other.away or other.host is not None:
                continue
            if len(other.makers) == 1 and other.wanted():
                self._adopt(other, untyped_of(results[index]))

    def absent(self):
        return any(buffer.away for buffer in self.by_key.values())

    # Changes.

    def before_write(self, buffer, place):
        """Whoever is made from the buffer comes back before its bytes change; a host copy of the old bytes goes."""
        for dependent in list(buffer.dependents):
            if dependent.away and dependent.host is None:
                self.counts["fetched"] += 1
                self.storage_of(dependent)
        buffer.writes.append(place)
        buffer.host = None

    def close(self):
        """No storage that somebody holds stays empty. What no ticket wants forgets its calls, which hold memory."""
        for buffer in list(self.by_key.values()):
            if buffer.away and buffer.emptied is not None and not buffer.emptied.expired():
                self.storage_of(buffer)
        wanted = [buffer for buffer in self.by_key.values() if buffer.tickets > 0]
        kept = set()
        while wanted:
            buffer = wanted.pop()
            if id(buffer) not in kept:
                kept.add(id(buffer))
                wanted += operands_of(buffer)
        for buffer in self.by_key.values():
            buffer.pinned = False
            if id(buffer) not in kept:
                buffer.makers = []
            buffer.let_go()


def operands_of(buffer):
    """The buffers that its makers read, but for itself."""
    found = {}
    for call, _ in buffer.makers:
        for operand in call.operands:
            if operand.buffer is not buffer:
                found[id(operand.buffer)] = operand.buffer
    return list(found.values())


def can_run_again(buffer):
    """Whether the makers are known, of it and of all that is missing for it."""
    seen, todo = {id(buffer)}, [buffer]
    while todo:
        made = todo.pop()
        if not made.makers or not all(call.again for call, _ in made.makers):
            return False
        if made.makers[0][1] is None:
            return False
        for operand in operands_of(made):
            if id(operand) in seen or operand.storage() is not None or operand.host is not None:
                continue
            seen.add(id(operand))
            todo.append(operand)
    return True
