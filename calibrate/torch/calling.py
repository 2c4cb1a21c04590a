"""A step listed without memory, each distinct call of it timed alone."""
from alone import Call, assumed_ns, signature
from answers import Answers, check_room, hear_real_step, is_unknown_size, smaller
from cache import Cache, Distances
from calls import leaves_memory_unwritten, tensors_in
from clocks import NoClock
from fakes import Fakes, looking_real
from fresh import FreshMemory, fresh_by_node
from known import Known
from larger import Larger
from mistakes import NumbersNeeded, RecordError
from restrided import Restrided
from rounds import time_alone
from running import one_step
from untouched import Untouched
from versions import storage_of
from work import flops_of

ERROR_ALONE, ERROR_ASSUMED = 0.15, 1.0


class Catalog:
    """The distinct calls of a step, and which of them each node makes."""

    def __init__(self):
        self.calls, self.by_node, self._places, self._makers = [], [], {}, {}

    def see(self, index, function, args, kwargs, result):
        key = (function,) + signature((args, kwargs))
        if key not in self._places:
            self._places[key] = len(self.calls)
            self.calls.append(Call(function, args, kwargs, result, flops_of(function, args, kwargs, result)))
            self.calls[-1].comes_after(self._makers, args, kwargs)
        self.by_node.append(self._places[key])
        self._makers.update((storage_of(tensor)._cdata, (self.calls[self._places[key]], number))
                            for number, tensor in enumerate(tensors_in(result)))


def list_step(found, forward, batch, update, device, small, notes):
    """The recorder of one step of fakes, with its `catalog`. The user's objects are as before."""
    try:
        return fake_step(found, forward, batch, update, device, None)
    except NumbersNeeded as needed:
        if not small:
            check_room(min(2, batch[0].shape[0]), batch[0].shape[0], needed.bytes_alive)
        notes.append("numbers that the step reads from its tensors are those of a smaller batch: %s first" % needed)
    heard = hear_real_step(found, forward, list(small) if small else smaller(batch), update)
    return fake_step(found, forward, batch, update, device, heard)


def fake_step(found, forward, batch, update, device, heard):
    """Two steps of fakes, since the first makes the optimizer's states; the second is listed."""
    fakes = Fakes(found, device)
    with Untouched(found, contents=False) as before:
        before.set_aside_gradients()
        fakes.put_in()
        batch = fakes.batch(batch)
        try:
            with fakes.mode, looking_real():
                for _ in range(2):
                    fakes.clear_gradients()
                    step = step_of_fakes(found, forward, batch, update, Answers(heard, Known(fakes.known_pairs())))
        except Exception as error:
            if not is_unknown_size(error):
                raise
            raise RecordError("a call's result has a size that depends on its data (%s): record with how='run' at a "
                              "batch that fits" % str(error).split("\n")[0]) from error
    return step


def step_of_fakes(found, forward, batch, update, answers):
    catalog, restrided, larger = Catalog(), Restrided(), Larger()

    def see(index, function, args, kwargs, result):
        catalog.see(index, function, args, kwargs, result)
        restrided.see(function, args, kwargs)
        larger.see(index, function, args, kwargs, result)
    with restrided, answers.lists:
        step = one_step(found, forward, batch, update, NoClock(), answers, see)
    larger.correct(step.nodes)
    step.catalog = catalog
    return step


def call_steps(step, device, times, notes):
    """Gives the nodes of a listed step their times: measured alone, or assumed with `times` None."""
    catalog = step.catalog
    step.varies, step.allocator_peak, step.notes = [], None, notes
    if times is None:
        step.error = ERROR_ASSUMED
        spans = [assumed_ns(call) for call in catalog.calls]
        for node, place in zip(step.nodes, catalog.by_node):
            node["ns"] = spans[place]
        return
    step.error = ERROR_ALONE
    memory = FreshMemory(device)
    timed = time_alone(catalog.calls, device, Cache(device), memory)
    resized = sum(timed[place].correct_sizes(node) for node, place in zip(step.nodes, catalog.by_node))
    touched = Distances(step.nodes, step.values).by_node
    fresh = fresh_by_node(step.nodes, lambda node: leaves_memory_unwritten(node["op"]))
    for node, place, pairs, bytes_of_one in zip(step.nodes, catalog.by_node, touched, fresh):
        node["ns"] = timed[place].ns(pairs, bytes_of_one * memory.of_byte)
    failed = [str(each.call.function) for each in timed if each.failed]
    if failed:
        notes.append("%d calls could not be run alone, their times are assumed: %s" %
                     (len(failed), ", ".join(sorted(set(failed))[:5])))
    if resized:
        notes.append("%d results have the size that the call alone showed, not the one listed" % resized)
