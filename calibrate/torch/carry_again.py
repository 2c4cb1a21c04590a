"""The part of the store that runs calls again, and knows which could.

A buffer is sound while its makers, and theirs, would make it again as it is. What is away without a host copy anchors
the sources that are not sound. Before a write, those that were made from the old bytes hold on to something or return.
"""
import torch

from carry_buffers import Anchor
from carry_storage import over, overwritten_error, untyped_of


class Again:
    def _can_run_again(self, buffer, written):
        """Whether its makers would give its bytes; anchors what they read and nothing would make again.

        `written`: a buffer whose bytes are about to change.
        """
        if not buffer.makers or buffer.makers[0][1] is None:
            return False
        anchored = []
        for call, _ in buffer.makers:
            if not call.again:
                return False
            for operand in call.operands:
                source = operand.buffer
                if source is buffer:
                    continue
                if source is written or not operand.same():
                    return False
                if not source.sound:
                    anchored.append(source)
        if any(source.storage() is None and source.host is None and not source.away for source in anchored):
            return False
        buffer.anchors = [Anchor(source) for source in anchored]
        return True

    def _no_longer_sound(self, written):
        """What was made from it cannot be made again after the write. Those that are away hold on to something, or return."""
        found, todo = {}, [written]
        while todo:
            for reader in todo.pop().readers:
                if reader is written or id(reader) in found:
                    continue
                if reader.sound:
                    todo.append(reader)
                    reader.sound = False
                elif not reader.away or reader.host is not None:
                    continue
                found[id(reader)] = reader
        written.readers = ()
        if not self.gone:
            return
        for reader in sorted(found.values(), key=lambda b: b.order):
            if reader.away and reader.host is None and not self._can_run_again(reader, written):
                self.counts["fetched"] += 1
                self.storage_of(reader)

    def make_up_to(self, buffer, stage):
        """The first makers run again, up to `stage`: what overwrites the buffer afterwards comes later."""
        if buffer.storage() is None and buffer.host is None and stage < len(buffer.makers):
            if buffer.to_run(stage):
                self._run_again(buffer, stage)
            buffer.pinned = True
        else:
            self.bring(buffer, True)

    def can_make(self, buffer, stage):
        """Whether `make_up_to` would give the bytes of a buffer that died, of which nothing is anchored."""
        stage = stage if stage < len(buffer.makers) else None
        for made in self._missing(buffer, stage):
            if not made.makers or (made.partial is None and made.makers[0][1] is None):
                return False
            for call, _ in made.to_run(stage if made is buffer else None):
                if not call.again or not all(operand.buffer is made or operand.same() for operand in call.operands):
                    return False
        return True

    def _run_again(self, buffer, stage=None):
        """Everything that is missing is made in the order in which it was made first; what nobody wants goes again."""
        missing = self._missing(buffer, stage)
        sources = {id(made): operands_of(made, stage if made is buffer else None) for made in missing}
        readers = {}  # by id of a missing buffer: those still to be made from it
        for operand in (operand for made in missing for operand in sources[id(made)]):
            readers[id(operand)] = readers.get(id(operand), 0) + 1
        scratch = {}
        for made in missing:
            read = made is buffer or readers.get(id(made))  # else a call that ran early has made it for itself
            if read and made.storage() is None and id(made) not in scratch:
                scratch[id(made)] = self._make(made, scratch, stage if made is buffer else None)
            for operand in sources[id(made)]:
                readers[id(operand)] -= 1
                if readers[id(operand)] == 0 and operand is not buffer:
                    scratch.pop(id(operand), None)
        return buffer.storage() if id(buffer) not in scratch else scratch[id(buffer)]

    def _missing(self, buffer, stage=None):
        seen, todo = {id(buffer): buffer}, [buffer]
        while todo:
            made = todo.pop()
            for operand in operands_of(made, stage if made is buffer else None):
                if operand.storage() is None and operand.host is None and id(operand) not in seen:
                    seen[id(operand)] = operand
                    todo.append(operand)
        return sorted(seen.values(), key=lambda b: b.order)

    def _exposed(self, buffer):
        """Whether running it again reads bytes that the user may hold, and change where nobody looks.

        Autograd itself refuses a backward after a write to what it saved. An anchor is no saved tensor.
        """
        read = [operand for made in self._missing(buffer) for call, _ in made.makers for operand in call.operands
                if operand.buffer is not made and operand.tensor is None and operand.buffer.storage() is not None]
        anchored = [anchor.buffer for reader in self.gone.values() for anchor in reader.anchors] if read else []
        return any(operand.buffer.tickets == sum(operand.buffer is source for source in anchored) for operand in read)

    def _make(self, buffer, scratch, stage=None):
        """Runs the calls that made the buffer, into a storage of its own or the user's emptied one; up to a stage if given."""
        if not buffer.makers:
            raise RuntimeError("Spillway: a value that is needed again has no call that made it (%s)" % buffer.base)
        todo, made = buffer.to_run(stage), None
        if buffer.partial is not None:
            made, buffer.partial = buffer.partial[0], None

        def tensor_of(operand):
            if operand.buffer is buffer:
                return operand.place.over(made)
            if not operand.same():
                raise overwritten_error((operand.place or operand.tensor).size)
            if operand.tensor is not None:
                return operand.held()
            kept = scratch.get(id(operand.buffer))
            return operand.place.over(kept if kept is not None else self.storage_of(operand.buffer))

        for call, index in todo:
            self.counts["replayed"] += 1
            results = call.run(tensor_of)
            self.ran_again(self, list(scratch.values()), results)
            if index is not None:
                made = untyped_of(results[index])
                self._fill_others(call, results, buffer)
            del results
        if stage is not None:
            buffer.partial = (made, stage)
            return made
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
        """Other results of the same call that are missing and wanted come back with it."""
        for index, weak in call.fills:
            other = weak()
            if other is None or other is buffer or other.storage() is not None or other.host is not None:
                continue
            if len(other.makers) == 1 and other.wanted():
                self._adopt(other, untyped_of(results[index]))


def operands_of(buffer, stage=None):
    """The buffers that its makers still to run read, up to a stage if given, but for itself."""
    found = {}
    for call, _ in buffer.to_run(stage):
        for operand in call.operands:
            if operand.buffer is not buffer:
                found[id(operand.buffer)] = operand.buffer
    return list(found.values())
