"""The watcher: a running loop recorded in its own place, without an edit, also one that runs out of memory.

    watch("step.json").attach(model)          # one line: it writes the file, says so once, and takes itself off
    # or: with watcher: loss = model(batch); loss.backward()

After three alike pieces of a kind the kind is known. While it watches, saved tensors of 1 MiB and more go to the host;
those copies are not in the times.
"""
import json
import os
import sys
import tempfile
import weakref

import torch

from carry_buffers import kept
from carry_calls import Signature, flat
from carry_fit import copies_for
from carry_follow import BIG, Following, as_tensor, trained_leaf
from carry_report import counted
from carry_storage import has_storage
from calls import layout_of
from found import Found
from mistakes import RecordError, check_modules
from watch_kinds import SeenKinds, recording_of
from watch_piece import Piece


class Watcher(Following):
    moves = False  # copies go to the host, and nothing leaves that the loop holds

    def __init__(self, path, device=None, optimizer=None, name=None, samples=None, kinds=1, count=False):
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        super().__init__(copies_for(self.device, 0), True, lambda *_: None)
        self.path, self.name, self.samples, self.count = path, name, samples, count
        self.optimizers = [optimizer] if optimizer is not None else []
        self.seen, self.piece, self.done, self.broken = SeenKinds(kinds), None, False, False
        self.told_out = False  # whether it was said that a carrier is in the way
        self.failed = False  # the file could not be written
        self.versions, self.peak, self.call = None, 0, None
        self.entering, self.batch = None, None  # the module whose forward begins; samples of the model's first input

    def attach(self, model):
        check_modules([model])
        self.name = self.name or type(model).__name__
        return super().attach(model)

    def _optimizer_steps(self, optimizer, *_):
        if not any(each is optimizer for each in self.optimizers):
            self.optimizers.append(optimizer)
        super()._optimizer_steps(optimizer)

    # Contexts and pieces.

    def _before_forward(self, module, inputs):
        self.entering = module
        self._samples_of(module, inputs)
        super()._before_forward(module, inputs)
        self.entering = None

    def _forward_of(self, module, inputs):
        if self.model() is None and self.open and not self.begun and self._in_training(module):
            # A context without attach: the first module that trains is the model, not a teacher.
            self.model, self.name = weakref.ref(module), self.name or type(module).__name__
            self.versions = None
        self.entering = module
        self._samples_of(module, inputs)
        super()._forward_of(module, inputs)
        self.entering = None

    def _samples_of(self, module, inputs):
        if module is self.model():
            first = next(iter(flat(inputs, {})), None)
            self.batch = first.size(0) if first is not None and first.dim() else self.batch
            if self.piece is not None:
                self.piece.samples = self.batch

    def begin(self):
        if self.open:
            self.end()
        if self.done or self.failed:
            return self
        if self.seen.enough(self._weights_changed()):
            self.finish()
            return self
        return super().begin()

    def _stays_out(self):
        if not self.told_out:
            self.told_out = True
            print("Spillway: a carrier is open, so nothing is watched: detach() or leave it first", file=sys.stderr)

    def __exit__(self, error, *_):
        self.broken = error is not None
        self.end()

    def _piece_begins(self):
        self.broken = False
        model = self.model()
        self.piece = Piece(Found(model, self.optimizers), self.device, self.entering, self.batch)

    def _piece_ends(self):
        piece, self.piece = self.piece, None
        piece.close()
        if piece.backward and not piece.unended and not self.broken:
            self.seen.add(piece)

    def _weights_changed(self):
        """Since the last question: by the counters that PyTorch keeps of overwrites."""
        model = self.model()
        weights = list(model.parameters()) if model is not None else []
        weights += [w for each in self.optimizers for group in each.param_groups for w in group["params"]]
        before, self.versions = self.versions, [weight._version for weight in weights]
        return not weights or before is None or before != self.versions

    def finish(self):
        """Writes what was seen so far, and takes itself off. False: no kind came three times, or no file can be written."""
        self.end()
        kinds = self.seen.complete()
        if kinds and not self.done:
            self._complete(recording_of(kinds, self.name or "step", self.samples, self.device), kinds)
        self.detach()
        return self.done

    def _complete(self, content, kinds):
        try:
            write_whole(self.path, content)
            self.done = True
            print("Spillway: %s is written: %s. Plan it: spillway plan %s --memory 8GB --for torch -o plan.json" % (
                self.path, kinds_in_words(kinds), self.path), file=sys.stderr)
        except OSError as error:  # training goes on
            self.failed = True
            print("Spillway: %s cannot be written (%s): set `path` of the watcher to another file, and call its finish()"
                  % (self.path, error.strerror), file=sys.stderr)

    # Calls.

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        signature = Signature.of(function)
        if self.inside or signature.noise:
            return as_tensor(function(*args, **kwargs), function)
        tensors, backward = flat(args, kwargs), self.phase.inside()
        if (self.backward_seen or not self.begun) and not backward and not signature.detaches and trained_leaf(tensors):
            self._forward_call()
        if not self.begun and not backward:
            return as_tensor(function(*args, **kwargs), function)
        self.begun = True
        read, operands, opaque = self._read(tensors)
        if signature.detaches:
            return self._detached(function, args)
        if backward:
            self.backward_seen = True
            self.piece.runs_backward()
        return self._recorded(signature, function, args, kwargs, read, operands, opaque)

    def _recorded(self, signature, function, args, kwargs, read, operands, opaque):
        piece = self.piece
        if not signature.views:
            piece.ask()
        written = signature.written(args, kwargs)
        self._look_for_unseen(operands, written)
        self._catch(function, signature, args, kwargs, operands, written)
        self.call, count = [function, args, kwargs, [layout_of(tensor) for tensor in flat(args, kwargs)], None], len(piece.nodes)
        try:
            result = self.call[4] = as_tensor(piece.clock.time(function, args, kwargs), function)
            self._made(signature, read, operands, written, result, None, opaque)
        finally:
            self.call = None  # holds nothing past an exception
        if len(piece.nodes) == count:
            piece.clock.forget()  # a view
        elif self.count:
            self.peak = max(self.peak, counted(self.store))
        return result

    def _look_for_unseen(self, operands, written):
        """Memory that was only taken, and is read: somebody wrote it, and no call of PyTorch did."""
        for buffer in operands:
            if buffer.unwritten and not any(self.store.find(tensor) is buffer for tensor in written):
                self.piece.unseen.append(buffer.base)

    def _place(self, signature, read, operands, buffers):
        function, args, kwargs, inputs, result = self.call
        self.piece.add(function, (args, kwargs, result), inputs, read, operands, buffers, self.phase.inside())

    def _pack(self, tensor):
        if not isinstance(tensor, torch.Tensor) or not has_storage(tensor):
            return kept(tensor, False)
        buffer = self.store.known(tensor)
        if buffer is None or buffer.outer or buffer.nbytes < BIG:
            return kept(tensor, True)
        return self._offloaded(buffer, tensor)


def write_whole(path, content):
    """The file, or nothing of it. OSError: it cannot be written."""
    handle, temporary = tempfile.mkstemp(".tmp", os.path.basename(path) + ".", os.path.dirname(os.path.abspath(path)))
    try:
        with open(handle, "w") as file:
            json.dump(content, file)
        os.chmod(temporary, usual_mode())
        os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


def usual_mode():
    """Of a file that `open` makes."""
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask


def check_path(path):
    """Refuses a file that cannot be written, before training goes on to the end."""
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise RecordError("watch: there is no folder %s for the recording %s: make it first" % (folder, path))
    if os.path.isdir(path):
        raise RecordError("watch: %s is a folder: name the file in it" % path)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise RecordError("watch: nothing can be written into %s: choose another folder for the recording" % folder)


def kinds_in_words(kinds):
    if len(kinds) == 1:
        return "one kind of step, seen %d times" % kinds[0].seen
    return "%d kinds of step, seen %s times" % (len(kinds), ", ".join(str(kind.seen) for kind in kinds))


def watch(path, device=None, optimizer=None, name=None, samples=None, kinds=1, count=False):
    """A watcher, which writes the recording `path` once it has seen each kind of step three times, and at least `kinds`.

    `optimizer`: whose states count; from PyTorch 2.0 on an attached watcher finds it. `samples` of a step: those of the
    model's first input, unless given. RecordError: the file cannot be written where it is to be.
    """
    check_path(path)
    return Watcher(path, device, optimizer, name, samples, kinds, count)
