"""`auto` in loops: watched, planned, carried out, kept for the next run; and each way in which that can fail.

torch_record_test.sh runs this file. The package is put together here from its sources; SPILLWAY in the environment is its
program. Devices are processors, so `memory` is what context and workspace take of a card, and a share of the step's peak.
"""
import contextlib
import copy
import io
import json
import os
import shutil
import stat
import sys
import tempfile
import warnings

import torch
from torch import nn

import spillway_torch
from carrier_networks import NETWORKS

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BESIDE = 800 << 20  # bytes of a card for context and workspaces, on top of the step
HUGE = 10 ** 12
STEPS = 6
OLD_IN_QUICK = torch.__version__.startswith("1.") and "SPILLWAY_DEEP" not in os.environ
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def test_of_the_newest(function):
    """On PyTorch 1.13: in the deep tier."""
    return function if OLD_IN_QUICK else test(function)


def package(folder):
    """The package `spillway` without a program of its own."""
    target = os.path.join(folder, "package", "spillway")
    shutil.copytree(os.path.join(SOURCE, "calibrate", "torch", "package", "spillway"), target,
                    ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(spillway_torch.__file__, os.path.join(target, "torch", "__init__.py"))
    sys.path.insert(0, os.path.dirname(target))


class Loop:
    """Training from seed 1. `change(network)` comes before the first step, `extra(network, x)` adds to each loss."""

    def __init__(self, memory=None, name="unet", steps=STEPS, extra=None, **asked):
        make, loss, draw, usual = NETWORKS[name]
        torch.manual_seed(1)
        self.network = make().train()
        optimizer = torch.optim.AdamW(self.network.parameters(), lr=0.01, foreach=False)
        self.losses, self.carrier, told = [], None, io.StringIO()
        with contextlib.redirect_stderr(told):
            if memory is not None:
                import spillway.torch
                self.carrier = spillway.torch.auto(self.network, "%d B" % memory, margin=0, **asked)
            try:
                for _ in range(steps):
                    value = loss(self.network, *draw(usual))
                    if extra is not None:
                        value = extra(self.network, value)
                    value.backward()
                    optimizer.step()
                    optimizer.zero_grad(set_to_none=True)
                    self.losses.append(value.item())
            finally:
                self.at_end = None if self.carrier is None else self.carrier.phase
                self.inner = None if self.carrier is None else self.carrier.inner
                if self.carrier is not None:
                    self.carrier.detach()
                self.told = [line for line in told.getvalue().split("\n") if line.startswith("Spillway: ")]  # no warnings

    def same(self, other):
        state, others = self.network.state_dict(), other.network.state_dict()
        return self.losses == other.losses and all(torch.equal(state[key], others[key]) for key in others)


def nothing_left():
    from torch.utils._python_dispatch import _get_current_dispatch_mode
    return _get_current_dispatch_mode() is None and not nn.modules.module._global_forward_pre_hooks


def kept_files():
    folder = spillway_torch.cache_folder()
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def tight():
    """Bytes of a card that holds three quarters of the step's peak."""
    Loop(HUGE)
    path = os.path.join(spillway_torch.cache_folder(), kept_files()[0])
    with open(path) as file:
        peak = json.load(file)["in_core"]["peak_bytes"]
    os.remove(path)
    return BESIDE + peak * 3 // 4


@test
def a_step_that_fits_is_said_to_fit_and_runs_plainly():
    plain, loop = Loop(), Loop(HUGE)
    assert loop.same(plain) and loop.at_end == "plain" and nothing_left()
    assert len(loop.told) == 1 and "fits into" in loop.told[0] and "no plan is carried out" in loop.told[0], loop.told
    assert len(kept_files()) == 1


@test
def a_loop_is_watched_planned_and_carried_out_and_the_next_run_starts_with_the_plan():
    memory, plain = tight(), Loop()
    first = Loop(memory)
    assert first.same(plain) and first.at_end == "carrying" and nothing_left()
    assert len(first.told) == 1 and "in core, now" in first.told[0] and "expected" in first.told[0], first.told
    assert first.inner.account.again > 0
    second = Loop(memory)
    assert second.same(plain) and second.at_end == "carrying" and len(second.told) == 1, second.told
    assert second.told[0].endswith("(cached plan)") and second.inner.account.sums[0]["contexts"] == STEPS
    assert len(kept_files()) == 1


@test_of_the_newest
def another_loop_has_another_plan_and_other_calls_are_watched_again():
    memory = tight()
    Loop(memory)
    assert len(kept_files()) == 1
    Loop(memory + 4096)
    assert len(kept_files()) == 2  # other memory
    many = lambda network, value: value + sum(p.tanh().sin().cos().abs().mean() for p in network.parameters())  # noqa: E731
    plain, loop = Loop(extra=many, steps=8), Loop(memory, extra=many, steps=8)
    assert loop.same(plain) and nothing_left()
    assert "(cached plan)" in loop.told[0] and "watched again" in loop.told[1], loop.told
    assert loop.at_end in ("carrying", "plain") and len(loop.told) == 3, loop.told


@test_of_the_newest
def too_little_memory_is_said_once_and_training_goes_on():
    plain = Loop()
    for memory in (1000, BESIDE + (64 << 10)):
        loop = Loop(memory)
        assert loop.same(plain) and loop.at_end == "plain" and nothing_left() and kept_files() == []
        assert len(loop.told) == 1 and "no plan for %d B" % memory in loop.told[0], loop.told


@test
def a_program_that_is_missing_or_of_another_version_is_refused_before_training():
    import spillway
    there = os.environ["SPILLWAY_PROGRAM"]
    other = os.path.join(os.path.dirname(spillway.__file__), "other")
    with open(other, "w") as file:
        file.write("#!/bin/sh\necho spillway-of-old 0.0\n")
    os.chmod(other, stat.S_IRWXU)
    try:
        for program, what in (("/nowhere/spillway", "no program /nowhere/spillway"), (other, "says 'spillway-of-old 0.0'")):
            os.environ["SPILLWAY_PROGRAM"] = program
            try:
                Loop(HUGE)
                assert False, "not refused"
            except spillway.SpillwayError as error:
                assert what in str(error) and "\n" not in str(error), error
            assert nothing_left() and kept_files() == []
    finally:
        os.environ["SPILLWAY_PROGRAM"] = there


@test_of_the_newest
def a_cache_that_takes_no_file_costs_a_sentence():
    memory, plain = tight(), Loop()
    home = os.environ["XDG_CACHE_HOME"]
    with open(os.path.join(home, "file"), "w"):
        pass
    os.environ["XDG_CACHE_HOME"] = os.path.join(home, "file")  # root may write into any folder, and below no file
    try:
        loop = Loop(memory)
    finally:
        os.environ["XDG_CACHE_HOME"] = home
    assert loop.same(plain) and loop.at_end == "carrying" and nothing_left()
    assert len(loop.told) == 2 and "the plan is not kept" in loop.told[0], loop.told


def refused(words, **asked):
    """By `auto` itself, with one line in which no option of the command line occurs; the model keeps no hook."""
    import spillway.torch
    network = NETWORKS["unet"][0]().train()
    try:
        spillway.torch.auto(network, **asked)
    except spillway.SpillwayError as error:
        text = str(error)
        assert all(word in text for word in words) and "--" not in text and "\n" not in text, (asked, text)
        assert nothing_left() and not network._forward_pre_hooks
        return
    raise AssertionError("not refused: %s" % asked)


@test
def arguments_that_are_wrong_are_refused_before_training():
    for memory in (None, True, [], b"11 GB", 0, -1, 0.5, float("nan"), float("inf"), 2 ** 63, "", "11", "11 G", "11 gb"):
        refused(["memory: expected bytes as a number", "found %r" % (memory,)], memory=memory)
    for margin in (100, -1, "ten", []):
        refused(["margin: expected a number from 0 to 90", "found '%s'" % (margin,)], memory="11 GB", margin=margin)
    refused(["strategy: ", "'bst'", "did you mean 'best'"], memory="11 GB", strategy="bst")
    refused(["strategy: expected a text", "None"], memory="11 GB", strategy=None)
    refused(["link: expected a rate", "'10GB'"], memory="11 GB", link="10GB")
    refused(["link: expected a text", "10"], memory="11 GB", link=10)
    for kinds in (0, "2", None):
        refused(["kinds: expected a whole number"], memory="11 GB", kinds=kinds)


@test
def sizes_are_read_as_the_program_reads_them():
    import spillway
    from spillway.asked import SMALLEST, size_in_words
    from spillway.running import run
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "step.json")
        with open(path, "w") as file:
            json.dump(SMALLEST, file)
        texts = ["11GB", "11  GB", "11 GB ", " 11 GB", "011 GB", "00.5 GB", "1e3 MB", "1e-3 TB", "1.5 B", "2.0 B", "11.GB",
                 ".5 GB", "1_000 MB", "11 KB", "11 kB", "11 KiB", "11 kiB", "11 PB", "+11 GB", "-11 GB", "0 B", "0.4 B",
                 "1e400 GB", "0.0000000001 GB", "9000000 TB", "9300000 TB", "11GB/s", "11\tGB", "\uff11 GB", "11 TiB",
                 "GB", "1e GB", ""]
        for text in texts:
            _, told = run([os.environ["SPILLWAY_PROGRAM"], "plan", path, "--strategy", "in-core", "--for", "torch",
                           "-o", os.path.join(folder, "plan.json"), "--memory", text])
            try:
                ours = size_in_words(text) == text
            except spillway.SpillwayError:
                ours = False
            assert ours == ("expected a" not in told), (text, ours, told)
    sizes = {11 * 10 ** 9: "11 GB", 12e9: "12 GB", 1500000: "1500 kB", 11 * 2 ** 30: "11811160064 B", 1: "1 B",
             1000.7: "1 kB"}
    assert {count: size_in_words(count) for count in sizes} == sizes


@test
def plans_take_bytes_as_numbers_and_speak_of_arguments():
    import spillway
    from spillway.asked import SMALLEST
    in_bytes, in_words = (spillway.plan(SMALLEST, memory, "in-core") for memory in (11 * 10 ** 9, "11 GB"))
    assert in_bytes.content == in_words.content and in_bytes.capacity_bytes > 9 * 10 ** 9
    for asked, words in (({"memory": None}, "memory: "), ({"memory": "11 GB", "margin": 100}, "margin: "),
                         ({"memory": 1000}, "memory: "), ({"memory": "11 GB", "machine": 3}, "machine: ")):
        try:
            spillway.plan(SMALLEST, **asked)
            assert False, asked
        except spillway.SpillwayError as error:
            assert str(error).startswith(words) and "--" not in str(error), error


@test
def memory_in_bytes_is_that_of_the_text():
    plain, loop = Loop(), Loop(HUGE)
    import spillway.torch
    network, told = NETWORKS["unet"][0]().train(), io.StringIO()
    with contextlib.redirect_stderr(told):
        carrier = spillway.torch.auto(network, HUGE, margin=0)
    assert carrier.asked["memory"] == "1000 GB" and loop.same(plain)
    carrier.detach()


@test
def whatever_fails_while_a_plan_is_made_training_goes_on():
    import spillway.torch
    plain = Loop()

    def fails(*_, **__):
        raise OSError(28, "No space left on device")
    places = [(spillway, "plan"), (spillway.torch, "found")]
    if not OLD_IN_QUICK:
        places += [(spillway.torch, name) for name in ("recording_of", "in_core_facts")]
    for owner, name in places:
        usual = getattr(owner, name)
        setattr(owner, name, fails)
        try:
            loop = Loop(HUGE)
        finally:
            setattr(owner, name, usual)
        assert loop.same(plain) and loop.at_end == "plain" and nothing_left(), name
        assert len(loop.told) == 1 and "OSError: [Errno 28] No space left" in loop.told[0], (name, loop.told)
        assert loop.told[0].endswith("training goes on without one"), loop.told
        for file in kept_files():
            os.remove(os.path.join(spillway_torch.cache_folder(), file))


@test
def interrupted_in_each_phase_nothing_is_left_behind():
    import spillway.torch
    memory = tight()

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    places = [(spillway.torch.PassingWatcher, "_recorded", 0), (spillway.planning, "run", 1), (spillway.torch, "apply", 1)]
    for owner, name, sentences in places:
        usual = getattr(owner, name)
        setattr(owner, name, interrupt)
        told = io.StringIO()
        try:
            with contextlib.redirect_stderr(told):
                Loop(memory)
            assert False, "not interrupted"
        except KeyboardInterrupt:
            pass
        finally:
            setattr(owner, name, usual)
        assert nothing_left(), name
        files = kept_files()
        assert all(each.endswith(".json") for each in files) and len(files) == (name == "apply"), (name, files)
    loop = Loop(memory)
    assert loop.same(Loop()) and loop.told[0].endswith("(cached plan)"), loop.told


def small(build=nn.Sequential):
    torch.manual_seed(1)
    return build(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 64))


def hooked(network, **asked):
    """Its carrier, and what it prints."""
    import spillway.torch
    told = io.StringIO()
    with contextlib.redirect_stderr(told):
        return spillway.torch.auto(network, "%d B" % HUGE, margin=0, **asked), told


def trained(network, told, steps=STEPS, group=None):
    optimizer = torch.optim.SGD(network.parameters(), 0.1)
    optimizer.param_groups[0].update(group or {})
    with contextlib.redirect_stderr(told):
        for _ in range(steps):
            network(torch.ones(4, 64)).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    return [line for line in told.getvalue().split("\n") if line.startswith("Spillway: ")]


@test
def a_model_is_copied_and_saved_before_its_first_step():
    network = small()
    carrier, told = hooked(network)
    other, file = copy.deepcopy(network), io.BytesIO()
    torch.save(network, file)
    assert not network._forward_pre_hooks and b"spillway" not in file.getvalue()
    other(torch.ones(4, 64))
    assert carrier.phase == "waiting"  # the copy is another network
    assert len(trained(network, told)) == 1 and carrier.phase == "plain" and nothing_left()
    network = small()
    carrier, told = hooked(network)
    said = trained(network, told)
    assert len(said) == 1 and said[0].endswith("(cached plan)") and carrier.phase == "plain", said


class Takes(nn.Module):
    """Its batch in any tree."""

    def __init__(self, x_of, act=None):
        super().__init__()
        self.net, self.x_of, self.act = small(), x_of, act

    def extra_repr(self):
        return repr(self.act)

    def forward(self, *args, **kwargs):
        return self.net(self.x_of(*args, **kwargs))


class Batch:
    def __init__(self, x):
        self.x = x


def place_of(network, *args, **kwargs):
    """Where the plan of this first forward is kept."""
    carrier, _ = hooked(network)
    network(*args, **kwargs)
    carrier.detach()
    assert nothing_left()
    return carrier.cached and carrier.cached.path


@test
def the_digest_sees_the_batch_wherever_it_lies_and_no_addresses():
    trees = [lambda x: ((x,), {}), lambda x: (({"x": x},), {}), lambda x: (([[x]],), {}), lambda x: ((), {"x": x}),
             lambda x: ((), {"batch": {"x": (x,)}}), lambda x: ((Batch(x),), {})]
    reads = [lambda x: x, lambda b: b["x"], lambda b: b[0][0], lambda x: x, lambda batch: batch["x"][0], lambda b: b.x]
    for number, (tree, read) in enumerate(zip(trees, reads)):
        places = []
        for rows in (4, 4, 4000):
            args, kwargs = tree(torch.zeros(rows, 64))
            places.append(place_of(Takes(read, act=lambda x: x), *args, **kwargs))
        assert places[0] is not None and places[0] == places[1] != places[2], (number, places)
    assert spillway_torch.keywords_of_call(small()) is None  # asked outside of its call
    hidden = torch.zeros(4, 64)
    assert place_of(Takes(lambda: hidden)) is None  # no batch is seen: no cached plan


@test
def what_cannot_be_described_is_watched_and_not_kept():
    class Odd:
        def __bool__(self):
            raise ValueError("ambiguous")
    for group, kept in (({"more": torch.ones(2)}, True), ({"more": Odd()}, False)):
        network = small()
        carrier, told = hooked(network)
        said = trained(network, told, group=group)
        assert carrier.phase == "plain" and "fits into" in said[-1], said
        assert len(kept_files()) == kept and len(said) == 2 - kept and (kept or "cannot be described" in said[0]), said
        for name in kept_files():
            os.remove(os.path.join(spillway_torch.cache_folder(), name))


@test
def the_device_is_that_of_the_first_step():
    network = small().to("meta")
    carrier, told = hooked(network)
    network.to_empty(device="cpu")
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.fill_(0.01)
    said = trained(network, told)
    assert carrier.device.type == "cpu" and "fits into" in said[0], (carrier.device, said)


@test
def a_plan_is_kept_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        warnings.simplefilter("error", DeprecationWarning)
        for kind in ("cpu", "cuda"):
            spillway_torch.precision(torch.device(kind))


@test
def files_have_the_mode_that_the_user_wants_and_leave_nothing_beside_them():
    folder = os.environ["XDG_CACHE_HOME"]
    usual = os.umask(0o027)
    try:
        spillway_torch.write_whole(os.path.join(folder, "step.json"), {})
    finally:
        os.umask(usual)
    assert os.listdir(folder) == ["step.json"]
    assert stat.S_IMODE(os.stat(os.path.join(folder, "step.json")).st_mode) == 0o640
    try:
        spillway_torch.write_whole(os.path.join(folder, "other.json"), {"a": object()})
        assert False, "not refused"
    except TypeError:
        assert os.listdir(folder) == ["step.json"]


@test_of_the_newest
def a_spoiled_file_of_the_cache_is_as_none():
    memory, plain = tight(), Loop()
    Loop(memory)
    path = os.path.join(spillway_torch.cache_folder(), kept_files()[0])
    with open(path) as file:
        good = json.load(file)
    head = {"format": "spillway-auto", "version": 1}
    damaged = [dict(head, plan={"before": {"x": [1]}}, in_core={}), dict(head, plan={"before": []}, in_core={}),
               dict(head, plan={"before": {}, "capacity_bytes": 1}, in_core=good["in_core"]), dict(head, plan=7, in_core=7),
               dict(good, in_core={}), dict(good, plan=dict(good["plan"], calls=5)), dict(good, plan=dict(good["plan"], more=3))]
    for spoiled in ["", "{}"] + [json.dumps(each) for each in damaged]:
        with open(path, "w") as file:
            file.write(spoiled)
        loop = Loop(memory)
        assert loop.same(plain) and loop.at_end == "carrying" and len(loop.told) == 1, loop.told


@test
def a_second_auto_takes_the_first_one_off_and_a_carrier_both():
    """While it waits, and while it watches."""
    import spillway.torch
    torch_of = spillway.torch
    network = nn.Linear(4, 4)
    first, second = (torch_of.auto(network, "8 GB") for _ in range(2))
    assert first.phase == "plain" and second.phase == "waiting" and not first.handles and len(second.handles) == 1
    kept = network(torch.randn(2, 4)).square()
    watcher = second.inner
    assert second.phase == "watching" and watcher.attached and watcher.open
    third = torch_of.auto(network, "8 GB")
    assert second.phase == "plain" and watcher.attached is None and not watcher.open
    with tempfile.TemporaryDirectory() as folder:
        by_hand = torch_of.watch(os.path.join(folder, "step.json"), device="cpu").attach(network)
    assert third.phase == "plain" and not third.handles and by_hand.attached
    by_hand.detach()
    kept.sum().backward()
    assert nothing_left() and network not in torch_of.ATTACHED


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        package(folder)
        os.environ["SPILLWAY_PROGRAM"] = os.environ["SPILLWAY"]
        wanted = sys.argv[1:]
        for case in TESTS:
            if wanted and not any(word in case.__name__ for word in wanted):
                continue
            os.environ["XDG_CACHE_HOME"] = os.path.join(folder, case.__name__)
            os.mkdir(os.environ["XDG_CACHE_HOME"])
            case()
            print("passed: %s" % case.__name__)


if __name__ == "__main__":
    main()
