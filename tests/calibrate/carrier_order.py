"""The order of a carrier's work on a GPU's streams, checked on a CPU: streams and events are fakes that keep a log.

`Check` is independent of the carrier. It knows three streams, each in order, and events between them, and refuses a log
in which a reader may run before the copy or call that gives it its bytes, a free before the last use or the copy out, a
copy back from host bytes that are not those of the copy out, or an overwrite of host bytes that are still read: the rules
of `verify` for instructions of a Program. Tests for carrier_test.py.
"""
import contextlib
import copy
import gc
import os
import random

import torch

import spillway_torch
from carrier_behind import Detached
from carrier_hand import HAND, plan_of
from carrier_networks import NETWORKS

ORDER = []
MUTATIONS = 2000 if "SPILLWAY_DEEP" in os.environ else 200


def order(function):
    ORDER.append(function)
    return function


class Wrong(Exception):
    """The log is not in order."""


class Check:
    """Goes through a log. Times are vectors: by stream, how many of its entries are certainly over."""

    def __init__(self):
        self.now = {"compute": {}, "out": {}, "in": {}}
        self.count = dict.fromkeys(self.now, 0)
        self.events = {}
        self.filled, self.used, self.written = set(), {}, {}  # by buffer: moments (stream, number)
        self.host = []  # [begin, end, buffer, moment of the copy out, moments of copies back]

    def run(self, log):
        for entry in log:
            getattr(self, entry["kind"])(**{key: value for key, value in entry.items() if key != "kind"})

    def _step(self, stream):
        self.count[stream] += 1
        self.now[stream][stream] = self.count[stream]
        return stream, self.count[stream]

    def _after(self, stream, moment, what):
        if self.now[stream].get(moment[0], 0) < moment[1]:
            raise Wrong(what)

    def record(self, stream, event):
        self.events[event] = dict(self.now[stream])

    def wait(self, stream, event):
        for other, number in self.events.get(event, {}).items():
            self.now[stream][other] = max(self.now[stream].get(other, 0), number)

    def _read(self, stream, buffer, what):
        if buffer not in self.filled:
            raise Wrong("%s reads %s, which is not there" % (what, buffer))
        self._after(stream, self.written[buffer], "%s reads %s before it is written" % (what, buffer))

    def _write(self, stream, buffer, what):
        for moment in self.used.get(buffer, []):
            self._after(stream, moment, "%s overwrites %s before it was read" % (what, buffer))

    def call(self, reads, writes):
        for buffer in reads:
            self._read("compute", buffer, "a call")
        for buffer in writes:
            self._write("compute", buffer, "a call")
        moment = self._step("compute")
        for buffer in reads + writes:
            self.used.setdefault(buffer, []).append(moment)
        for buffer in writes:
            self.filled.add(buffer)
            self.written[buffer] = moment

    def take(self, buffer):
        """Bytes of the device, in the order of the compute stream; whoever had them before is done by then."""
        moment = self._step("compute")
        self.used[buffer], self.written[buffer] = [moment], moment

    def free(self, buffer):
        if buffer not in self.filled:
            raise Wrong("%s is freed twice" % buffer)
        self._write("compute", buffer, "a free")
        self.filled.discard(buffer)

    def copy_out(self, buffer, begin, end):
        self._read("out", buffer, "a copy out")
        for piece in [piece for piece in self.host if piece[0] < end and begin < piece[1]]:
            for moment in [piece[3]] + piece[4]:
                self._after("out", moment, "a copy out overwrites the host's bytes of %s" % piece[2])
            self.host.remove(piece)
        moment = self._step("out")
        self.used[buffer].append(moment)
        self.host.append([begin, end, buffer, moment, []])

    def copy_in(self, buffer, begin, end):
        piece = next((piece for piece in self.host if piece[:3] == [begin, end, buffer]), None)
        if piece is None:
            raise Wrong("the host has no bytes of %s there" % buffer)
        self._after("in", piece[3], "a copy back of %s before its copy out" % buffer)
        if buffer in self.filled:
            raise Wrong("%s is there already" % buffer)
        self._write("in", buffer, "a copy back")
        moment = self._step("in")
        piece[4].append(moment)
        self.used.setdefault(buffer, []).append(moment)
        self.written[buffer] = moment
        self.filled.add(buffer)


def accepted(log):
    try:
        Check().run(log)
    except Wrong:
        return False
    return True


# Fakes in the place of torch.cuda's, and the carrier that keeps the log.


class Stream:
    def __init__(self, log, name):
        self.log, self.name = log, name

    def wait_event(self, event):
        if event.log is not self.log:
            return  # garbage of an earlier log, collected only now: its numbers are those of other events here
        self.log.add(kind="wait", stream=self.name, event=event.number)


class Event:
    def __init__(self, log):
        self.log, self.number = log, log.next_event()

    def record(self, stream):
        self.log.add(kind="record", stream=stream.name, event=self.number)

    def query(self):
        return False  # the host never learns that something is over


class Log:
    """What reached the streams. Before each entry the buffers are asked which of them have gone."""

    def __init__(self):
        self.entries, self.buffers, self.events, self.alive = [], {}, 0, {}

    def next_event(self):
        self.events += 1
        return self.events

    def name(self, buffer):
        if id(buffer) not in self.buffers:
            self.buffers[id(buffer)] = (len(self.buffers), buffer)
        return "b%d" % self.buffers[id(buffer)][0]

    def fills(self, buffer):
        self.alive[id(buffer)] = buffer

    def add(self, **entry):
        for buffer in list(self.alive.values()):
            if buffer.away or buffer.weak.expired():
                del self.alive[id(buffer)]
                self.entries.append({"kind": "free", "buffer": self.name(buffer)})
        self.entries.append(entry)
        return entry


class Logged(spillway_torch.Carrier):
    def __init__(self, plan, log):
        super().__init__(spillway_torch.plans_of(plan, "the plan"), device="cpu")
        self.log, self.call = log, None
        self.copies = Copies(self.slab_or_new(plan), log, self)

    @staticmethod
    def slab_or_new(plan):
        return spillway_torch.Slab(plan["host_bytes"], False)

    def known(self, buffers):
        """Those from before the step as well: somebody wrote them."""
        for buffer in buffers:
            if id(buffer) not in self.log.alive and not buffer.away:
                if id(buffer) not in self.log.buffers or buffer.outer:
                    self.log.add(kind="call", reads=[], writes=[self.log.name(buffer)])
                self.log.fills(buffer)
        return [self.log.name(buffer) for buffer in dict.fromkeys(buffers)]

    def _operands(self, signature, args, kwargs):
        found = super()._operands(signature, args, kwargs)
        self.call = self.log.add(kind="call", reads=self.known(found[1]), writes=[])
        self.log.entries.remove(self.call)
        self.log.entries.append(self.call)
        return found

    def _place(self, signature, read, operands, buffers):
        self.call["writes"] += [self.log.name(buffer) for buffer in dict.fromkeys(buffers)]
        for buffer in buffers:
            self.log.fills(buffer)
        super()._place(signature, read, operands, buffers)

    def _as_recorded(self, signature, operands, fresh):
        super()._as_recorded(signature, operands, fresh)
        for buffer in [self.store.by_key[key] for key in fresh]:
            self.call["writes"].append(self.log.name(buffer))
            self.log.fills(buffer)


class Copies(spillway_torch.StreamedCopies):
    def __init__(self, slab, log, carrier):
        self.log, self.carrier = log, carrier
        super().__init__(slab, torch.device("cpu"))

    def out(self, storage, beyond=False):
        buffer = self.carrier.store.by_key[storage._cdata]
        self.copied = None
        self.carrier.known([buffer])
        piece = super().out(storage, beyond)
        if piece is not None:
            self.copied.update(kind="copy_out", buffer=self.log.name(buffer), begin=piece.offset, end=piece.offset + piece.nbytes)
        return piece

    def back(self, buffer, target):
        self.log.add(kind="take", buffer=self.log.name(buffer))
        host = buffer.host
        made = super().back(buffer, target)
        self.copied.update(kind="copy_in", buffer=self.log.name(buffer), begin=host.offset, end=host.offset + host.nbytes)
        self.arrived = buffer
        return made


@contextlib.contextmanager
def faked(log):
    """torch.cuda's streams and events, as the carrier uses them."""
    compute, names = Stream(log, "compute"), iter(("out", "in"))

    @contextlib.contextmanager
    def stream(which):
        log.copies().copied = log.add(stream=which.name)
        yield

    plain = {name: getattr(torch.cuda, name) for name in ("Stream", "Event", "stream", "current_stream")}
    torch.cuda.Stream = lambda device: Stream(log, next(names))
    torch.cuda.Event = lambda: Event(log)
    torch.cuda.current_stream = lambda device=None: compute
    torch.cuda.stream = stream
    try:
        yield
    finally:
        for name, value in plain.items():
            setattr(torch.cuda, name, value)


def rerun_logged(log, carrier):
    """Calls that run again, and buffers that come back."""
    plain_run, plain_returned = spillway_torch.Caught.run, spillway_torch.Store._returned

    def run(call, tensor_of):
        result = plain_run(call, tensor_of)
        there = [operand.buffer for operand in call.operands if operand.buffer.storage() is not None]
        entry = log.add(kind="call", reads=carrier.known(there), writes=[])
        log.entries.remove(entry)
        log.entries.append(entry)
        return result

    def returned(store, buffer, storage):
        by_copy = getattr(carrier.copies, "arrived", None) is buffer
        carrier.copies.arrived = None
        if not by_copy:
            log.add(kind="take", buffer=log.name(buffer))
            log.add(kind="call", reads=[], writes=[log.name(buffer)])
        plain_returned(store, buffer, storage)
        log.fills(buffer)

    @contextlib.contextmanager
    def patched():
        spillway_torch.Caught.run, spillway_torch.Store._returned = run, returned
        try:
            yield
        finally:
            spillway_torch.Caught.run, spillway_torch.Store._returned = plain_run, plain_returned

    return patched()


def log_of(plan, step):
    """The log of two steps under the plan."""
    gc.collect()  # what an earlier log left behind
    log = Log()
    with faked(log):
        carrier = Logged(plan, log)
        log.copies = lambda: carrier.copies
        with rerun_logged(log, carrier):
            for _ in range(2):
                with carrier:
                    step()
    return [{key: value for key, value in entry.items() if not (key == "stream" and entry["kind"].startswith("copy"))}
            for entry in log.entries]


def step_of(name):
    make, loss, draw, samples = NETWORKS[name]
    torch.manual_seed(1)
    network, batch = make().train(), draw(samples)
    return lambda: loss(network, *batch).backward()


# Mutations, each of which breaks a rule.


def places(log, **wanted):
    return [index for index, entry in enumerate(log) if all(entry.get(key) == value for key, value in wanted.items())]


def next_reader(log, start, buffer):
    return next((k for k in range(start, len(log)) if log[k]["kind"] == "call" and buffer in log[k]["reads"]), None)


def next_free(log, start, buffer):
    return next((k for k in range(start, len(log)) if log[k] == {"kind": "free", "buffer": buffer}), None)


def without_waits(log, begin, end, stream, source):
    """Without the waits of a stream for events of another between two entries; and without those by way of a third."""
    of = {entry["event"]: entry["stream"] for entry in log if entry["kind"] == "record"}
    return [entry for k, entry in enumerate(log)
            if not (begin < k < end and entry["kind"] == "wait" and entry["stream"] == stream
                    and (of.get(entry["event"]) == source or of.get(entry["event"]) != "compute"))]


def mutated(log, draw):
    """(name, the log with one mistake); None where the one that was drawn has no place."""
    kind = draw.choice(["late", "dropped", "early free", "freed before use", "no copy out", "elsewhere", "unawaited",
                        "free unawaited", "copied unawaited"])
    log = copy.deepcopy(log)
    outwards = kind in ("early free", "no copy out", "free unawaited", "copied unawaited")
    at = draw.choice(places(log, kind="copy_out" if outwards else "copy_in"))
    if kind == "elsewhere":
        log[at]["begin"] += 512
        log[at]["end"] += 512
        return kind, log
    changed = (of_copy_out if outwards else of_copy_in)(kind, log, at, log[at]["buffer"])
    return None if changed is None else (kind, changed)


def of_copy_in(kind, log, at, buffer):
    """The log with a mistake about the copy back at `at`, or None."""
    reader, free = next_reader(log, at, buffer), next_free(log, at, buffer)
    if reader is None:
        return None
    if kind == "freed before use":
        if free is None or reader > free:
            return None
        log.insert(reader, log.pop(free))
        return log
    if free is not None and free < reader:
        return None
    if kind == "unawaited":
        return without_waits(log, at, reader, "compute", "in")
    entry = log.pop(at)
    if kind == "late":
        log.insert(reader, entry)
    return log


def of_copy_out(kind, log, at, buffer):
    """The log with a mistake about the copy out at `at`, or None."""
    free = next_free(log, at, buffer)
    if kind == "no copy out":
        outs = [k for k in places(log, kind="copy_out") if log[k]["buffer"] == buffer]
        later = next((k for k in range(at, len(log)) if log[k]["kind"] == "copy_in" and log[k]["buffer"] == buffer), None)
        again = next((k for k in outs if k > at), len(log))
        first = outs[0] == at  # else the host may have the bytes still
        return log[:at] + log[at + 1:] if first and later is not None and later < again else None
    if kind == "copied unawaited":
        writer = max((k for k in range(at) if log[k]["kind"] == "call" and buffer in log[k]["writes"]), default=None)
        return None if writer is None else without_waits(log, writer, at, "out", "compute")
    if free is None:
        return None
    if kind == "early free":
        log.insert(at, log.pop(free))
        return log
    return without_waits(log, at, free, "compute", "out")


@order
def streams_are_in_order(plans):
    """Logs of three plans are accepted, and each mistake in them is refused."""
    logs = [log_of(plans.plan("unet", 0.9, "1 GB/s", "swap-all"), step_of("unet")),
            log_of(plans.plan("odd", 0.8), step_of("odd"))]
    plan, make = plan_of(HAND[0], spillway_torch.record, True), HAND[0]
    torch.manual_seed(1)
    network, x = make().train(), torch.randn(6, 8)
    logs.append(log_of(plan, lambda: network(x).square().mean().backward()))
    for log in logs:
        Check().run(log)
    draw = random.Random(int(os.environ.get("SPILLWAY_SEED", "0")))
    kinds, tried = {}, 0
    swapped = [log for log in logs if places(log, kind="copy_in")]
    assert len(swapped) >= 2, len(swapped)
    while sum(kinds.values()) < MUTATIONS and tried < 40 * MUTATIONS:
        tried += 1
        found = mutated(draw.choice(swapped), draw)
        if found is not None:
            assert not accepted(found[1]), found[0]
            kinds[found[0]] = kinds.get(found[0], 0) + 1
    assert sum(kinds.values()) == MUTATIONS and len(kinds) >= 8, kinds


@order
def bytes_stay_while_a_copy_reads_them(plans):
    """Of a value that nobody holds: from its copy out until it leaves, or without a leave until the end."""
    plan = plan_of(Detached, spillway_torch.record, True)
    ids = [call["id"] for call in plan["calls"]]
    for actions in ({ids[2]: [["out", "1.0"]], ids[4]: [["leave", "1.0"]]}, {ids[2]: [["out", "1.0"]]}):
        torch.manual_seed(1)
        network, x = Detached().train(), torch.randn(6, 8)
        log = log_of(dict(plan, before=actions), lambda: network(x).square().mean().backward())
        Check().run(log)
        freed = {entry["buffer"] for entry in log if entry["kind"] == "free"}
        assert len(places(log, kind="copy_out")) == 2 and log[places(log, kind="copy_out")[0]]["buffer"] in freed


@order
def orders_left_out_of_the_carrier_are_seen(plans):
    """Each wait of the carrier is needed: without it the log is refused."""
    plan, step = plans.plan("unet", 0.9, "1 GB/s", "swap-all"), step_of("unet")
    streamed = spillway_torch.StreamedCopies

    def nothing(*_):
        return None

    def arrives_at_once(self, buffer):
        buffer.arrives = None

    def only_on(name):
        def after(self, stream, event=None):
            if stream.name != name:
                plain(self, stream, event)
        return after

    plain = streamed._after
    for name, mistake in (("left", nothing), ("await_arrival", arrives_at_once), ("_after", only_on("out")),
                          ("_after", only_on("in"))):
        kept = getattr(streamed, name)
        setattr(streamed, name, mistake)
        try:
            assert not accepted(log_of(plan, step)), name
        finally:
            setattr(streamed, name, kept)
    assert accepted(log_of(plan, step))
