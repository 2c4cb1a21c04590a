"""The usual call, in few steps: it is the next recorded one, changes nothing, and all that it makes is new.

Any other call goes the long way through carry_making.py, which does the same and more.
"""
import torch

from carry_buffers import Buffer
from carry_follow import Following
from carry_storage import STRIDED, key_of, untyped_of


class NextCall(Following):
    def _made(self, signature, read, operands, written, result, caught, opaque):
        """Most calls are the next recorded one and make new tensors alone."""
        if not (opaque or written or caught is not None or self.kinds.others) and self.graded:
            fresh = self._all_fresh(result)
            if fresh is not None and self.matcher.is_next(signature.name, operands, len(fresh), read):
                return self._as_recorded(signature, operands, fresh)
        super()._made(signature, read, operands, written, result, caught, opaque)

    def _all_fresh(self, result):
        """By storage address the results, if all are new and each has a storage of its own; None otherwise."""
        fresh, known = {}, self.store.by_key
        for leaf in (result,) if type(result) is torch.Tensor else result if type(result) is tuple else (result,):
            if type(leaf) is not torch.Tensor:
                if leaf is None:
                    continue
                return None
            if leaf.layout is not STRIDED or leaf.is_quantized or leaf.is_nested:
                return None
            key = key_of(leaf)
            if key in known or key in fresh:
                return None
            fresh[key] = leaf
        return fresh or None

    def _as_recorded(self, signature, operands, fresh):
        """As _place, for a call that is the next one and whose results are new."""
        matcher, store, held = self.matcher, self.store, self.plan.held
        if not self.backward_seen:
            self.backward_seen = self.phase.inside()
        index = matcher.clock
        call = matcher.calls[index]
        matcher.clock, matcher.row, matcher.saves = index + 1, 0, False
        matcher.matched += 1
        for buffer, dep in zip(operands, call.deps):
            if buffer.name is None:
                self._name(buffer, dep)
        for (key, tensor), (name, _) in zip(fresh.items(), call.results):
            storage = untyped_of(tensor)
            buffer = store.by_key[key] = Buffer(storage, store.order, False)
            store.order += 1
            if signature.takes and buffer.nbytes > 0:
                buffer.unwritten = True
                store.taken += 1
            buffer.name = buffer.base = name
            self.names[name] = buffer
            if name in held:
                buffer.pinned, buffer.hold = True, storage
        if self.account.count:
            self.account.called(index, store)
