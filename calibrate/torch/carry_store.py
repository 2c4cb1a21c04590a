"""The store: which buffers are on the device, how they leave, and how they come back.

Nothing here decides. `leave` and `bring` do what a plan asks for, as far as that is safe; whoever needs a buffer that is
away gets it back by `storage_of`. So a mistaken plan costs memory or time, never numbers.
"""
from carry_again import Again, operands_of
from carry_buffers import Buffer
from carry_storage import alive, key_of, untyped_of


class Store(Again):
    def __init__(self, copies, empty_held, ran_again):
        self.copies = copies          # carry_copies.Copies
        self.ran_again = ran_again    # called with the store and the bytes of scratch after each call that ran again
        self.empty_held = empty_held  # whether storages that the user's variables hold may be emptied
        self.by_key = {}              # by the storage's address; the Buffer's weak reference keeps it from being used again
        self.gone = {}                # by id: the buffers that are away
        self.order = 0
        self.taken = 0                # buffers that are unwritten
        self.counts = {"out": 0, "in": 0, "again": 0, "replayed": 0, "emptied": 0, "kept": 0, "fetched": 0}

    # Names of storages.

    def add(self, storage, outer):
        buffer = Buffer(storage, self.order, outer)
        self.order += 1
        self.by_key[buffer.key] = buffer
        return buffer

    def known(self, tensor):
        """The Buffer of the tensor's storage, None if the storage is new."""
        return self.by_key.get(key_of(tensor))

    def take_over(self, earlier):
        """Follows on what autograd has saved in an earlier piece, and what could not come back at its end: here it is from before."""
        self.by_key = {key: buffer for key, buffer in earlier.by_key.items()
                       if (buffer.tickets > 0 or buffer.missed()) and not buffer.weak.expired()}
        self.gone = {id(buffer): buffer for buffer in self.by_key.values() if buffer.away}
        self.taken = sum(buffer.unwritten for buffer in self.by_key.values())

    def find(self, tensor):
        return self.by_key.get(key_of(tensor)) or self.add(untyped_of(tensor), True)

    # Away and back.

    def out(self, buffer, beyond=False):
        """A copy to the host begins; without room there the buffer stays. `beyond`: the slab may be full."""
        storage = buffer.storage()
        if storage is None or buffer.host is not None or buffer.outer or buffer.stuck:
            return
        buffer.device = storage.device
        buffer.host = self.copies.out(storage, beyond)
        if buffer.host is None:
            self.counts["kept"] += 1
            return
        self.counts["out"] += 1
        if buffer.host.done is not None:
            buffer.hold = storage  # the copy reads it, until compute has waited for the copy

    def leave(self, buffer):
        """The device's bytes go if they can come back: from the host, or by the calls that made them."""
        buffer.pinned, buffer.partial = False, None
        storage = buffer.storage()
        if storage is None or buffer.outer or buffer.stuck:
            return
        if buffer.host is None and not self._can_run_again(buffer, None):
            self.counts["kept"] += 1
            return
        self.copies.await_arrival(buffer)
        if buffer.host is not None:
            self.copies.left(buffer.host)
        buffer.hold = None
        del storage
        held = alive(buffer.weak)
        if held is not None:
            self._empty(buffer, held)
        elif buffer.tickets > 0:
            buffer.away = True
        if buffer.away:
            self.gone[id(buffer)] = buffer
        else:
            buffer.anchors = ()  # it died by itself, or it stays

    def _empty(self, buffer, storage):
        if not self.empty_held:
            return
        # In this order: an interrupt in between leaves a storage that is known as empty, never the other way round.
        buffer.emptied, buffer.away = buffer.weak, True
        self.gone[id(buffer)] = buffer
        try:
            storage.resize_(0)
        except RuntimeError:  # numpy looks into it, or another process
            buffer.emptied, buffer.away = None, False
            del self.gone[id(buffer)]
            if buffer.wanted():
                buffer.hold = storage
            self.counts["kept"] += 1
            return
        self.counts["emptied"] += 1

    def bring(self, buffer, pin):
        """The plan wants the buffer on the device, until it says otherwise."""
        if buffer.outer or (buffer.storage() is None and not buffer.away and not buffer.makers):
            return
        storage = self._filled(buffer)  # its first reader waits for the copy
        if pin:
            buffer.pinned, buffer.hold = True, storage

    def storage_of(self, buffer):
        """The buffer's storage, filled; work on the current stream may read it."""
        storage = self._filled(buffer)
        self.copies.await_arrival(buffer)
        return storage

    def _filled(self, buffer):
        storage = buffer.storage()
        if storage is None:
            storage = self._fetch(buffer) if buffer.host is not None else self._run_again(buffer)
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
        buffer.away, buffer.emptied, buffer.partial = False, None, None
        self.gone.pop(id(buffer), None)
        if buffer.wanted():
            buffer.hold = storage
        buffer.anchors = ()

    def awaited(self):
        """Whether a graph is alive that has tickets: a model may be called twice before one backward."""
        return any(buffer.tickets > 0 for buffer in self.by_key.values())

    def absent(self):
        """Whether anything is away that somebody may still ask for."""
        for key, buffer in list(self.gone.items()):
            if buffer.away and (buffer.wanted() or not (buffer.emptied is None or buffer.emptied.expired())):
                return True
            del self.gone[key]
        return False

    # Changes.

    def before_write(self, buffer, place):
        """Whoever is made from the buffer comes back before its bytes change; a host copy of the old bytes goes."""
        if buffer.readers:
            self._no_longer_sound(buffer)
        buffer.writes = (*buffer.writes, place)
        if buffer.host is not None:
            if not buffer.wanted():
                self.copies.left(buffer.host)
            buffer.hold = buffer.storage() if buffer.wanted() else None
            buffer.host = None

    def close(self):
        """No storage that somebody holds stays empty. What no ticket wants forgets its calls, which hold memory."""
        mistakes = []
        for buffer in [buffer for buffer in self.by_key.values() if buffer.away]:
            if buffer.away and buffer.emptied is not None and not buffer.emptied.expired():
                self._tried(self.storage_of, buffer, mistakes)
        busy = [buffer for buffer in self.by_key.values() if not buffer.idle()]
        for buffer in busy:
            buffer.pinned, buffer.partial = False, None
            buffer.let_go()
        for buffer in sorted(self.gone.values(), key=lambda b: b.order):
            if buffer.away and buffer.tickets > 0 and buffer.host is None:
                self._tried(self._secure, buffer, mistakes)
        self._forget(busy)
        if mistakes:
            raise mistakes[0]

    def _tried(self, function, buffer, mistakes):
        try:
            function(buffer)
        except Exception as caught:  # out of memory, say: the others come back all the same
            mistakes.append(caught)

    def _secure(self, buffer):
        """To the host, where its sources may be overwritten unseen from now on."""
        if not self._exposed(buffer):
            return
        self.storage_of(buffer)
        self.out(buffer, True)
        if buffer.host is not None:
            self.leave(buffer)

    def _forget(self, busy):
        wanted = [buffer for buffer in busy if buffer.tickets > 0 or buffer.missed()]
        kept = set()
        while wanted:
            buffer = wanted.pop()
            if id(buffer) not in kept:
                kept.add(id(buffer))
                wanted += operands_of(buffer)
        for buffer in busy:
            buffer.readers = ()
            if id(buffer) not in kept:
                buffer.makers = ()
            if buffer.tickets > 0 or buffer.missed():
                buffer.name = buffer.base = None
                buffer.outer = True
            buffer.let_go()
