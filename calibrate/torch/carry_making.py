"""What a call makes and overwrites, caught so that it can run again."""
import torch

from carry_calls import NOTHING_DRAWN, Caught, Drawing, Operand, results_of
from carry_storage import Place, has_storage, key_of, untyped_of


class Making:
    """The part of a carrier that follows bytes from call to call."""

    def _catch(self, function, signature, args, kwargs, operands, written):
        """What it takes to run the call again; None: nobody asks for that. What it overwrites is told to the store."""
        overwritten = [self.store.find(tensor) for tensor in written] if written else written
        for tensor, buffer in zip(written, overwritten):
            self.store.before_write(buffer, Place(tensor))
        for buffer in operands:
            if buffer.unwritten:  # by the first reader at the latest somebody wrote it, unseen
                buffer.unwritten = False
                self.store.taken -= 1
                buffer.sound = buffer.sound and buffer in overwritten
                buffer.makers = buffer.makers if buffer.sound else ()
        if signature.statistics and signature.updates_statistics(args, kwargs):
            self._updated(signature, args, kwargs)
        if not self._may_run_again(signature.name):
            return None
        state = Drawing(function, args, kwargs) if signature.seeded else NOTHING_DRAWN
        caught = Caught(function, args, kwargs, self._operand, state)
        caught.again = not signature.resizes
        return caught

    def _updated(self, signature, args, kwargs):
        """Statistics that this step itself made: batch norm writes them, and its schema does not say so."""
        for index, name, _ in signature.statistics:
            tensor = args[index] if index < len(args) else kwargs.get(name)
            buffer = self.store.find(tensor) if tensor is not None else None
            if buffer is not None and not buffer.outer:
                buffer.stuck, buffer.sound = True, False

    def _may_run_again(self, _):
        return False

    def _operand(self, tensor):
        followed = has_storage(tensor) and key_of(tensor) not in self.numbers
        return Operand(self.store.find(tensor), tensor) if followed else tensor

    def _made(self, signature, read, operands, written, result, caught, opaque):
        if type(result) is torch.Tensor and not written and not opaque and has_storage(result):
            if key_of(result) not in self.store.by_key:
                self._place(signature, read, operands, [self._new(result, 0, caught, signature)])
            return
        if len(written) == 1 and result is written[0] and not opaque and not signature.resizes:
            buffer = self.store.find(result)
            self._overwritten(buffer, caught, 1)
            return self._place(signature, read, operands, [buffer])
        fresh, outputs = {}, False
        for index, leaf in enumerate(results_of(result)):
            if isinstance(leaf, torch.Tensor):
                if has_storage(leaf):
                    outputs = True
                    if key_of(leaf) not in self.store.by_key:
                        fresh.setdefault(key_of(leaf), (index, leaf))
                else:
                    opaque = True
        if not fresh and not written and outputs:
            if opaque:
                self._share(operands)
            return  # a view
        buffers = [self.store.find(tensor) for tensor in distinct(written)] if written else []
        for buffer in buffers:
            self._overwritten(buffer, caught, len(buffers) + len(fresh))
        for index, tensor in fresh.values():
            buffers.append(self._new(tensor, index, caught, signature))
        if opaque:
            self._share(operands + buffers)
        self._place(signature, read, operands, buffers)

    def _share(self, buffers):
        """A sparse tensor, or one that wraps others, may look into these storages, and write there: they stay."""
        for buffer in buffers:
            buffer.stuck, buffer.sound = True, buffer.outer
            buffer.makers = ()

    def _overwritten(self, buffer, caught, results):
        if buffer.outer:
            return
        storage = buffer.storage()
        if storage is not None:
            buffer.nbytes = storage.nbytes()
        if caught is None:
            buffer.makers, buffer.sound = (), False
            return
        caught.again = caught.again and results == 1
        buffer.makers = (*buffer.makers, (caught, None))
        self._derived(buffer, caught)

    def _derived(self, buffer, caught):
        buffer.sound = buffer.sound and caught.again
        for operand in caught.operands:
            if operand.buffer is not buffer:
                if not operand.buffer.readers:
                    operand.buffer.readers = []
                operand.buffer.readers.append(buffer)
                buffer.sound = buffer.sound and operand.buffer.sound

    def _new(self, tensor, index, caught, signature):
        buffer = self.store.add(untyped_of(tensor), False)
        if signature.takes and buffer.nbytes > 0:
            buffer.unwritten = True
            self.store.taken += 1
        if caught is not None:
            buffer.sound = True
            buffer.makers = ((caught, index),)
            caught.made(index, buffer)
            self._derived(buffer, caught)
        return buffer


def distinct(tensors):
    """One tensor of each storage."""
    found = {}
    for tensor in tensors:
        found.setdefault(key_of(tensor), tensor)
    return list(found.values())
