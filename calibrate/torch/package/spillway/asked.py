"""What is asked of the planner, checked before any step is planned: mistakes are told in the words of Python."""
import json
import math
import numbers
import os
import re
import tempfile
from typing import Any, List

from .running import run

UNITS = {"B": 1}
for place, letter in enumerate("kMGT", 1):
    UNITS[letter + "B"] = 1000 ** place
    UNITS[letter.upper() + "iB"] = 1024 ** place
UNITS["KB"] = 1000
SIZE = re.compile(r"((?:0|[1-9][0-9]*|[0-9]+(?=[.eE]))(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?) *([A-Za-z]+)", re.ASCII)
MOST = 2 ** 63  # bytes
HUGE = "1000000 GB"
# A step of two calls, which every strategy plans at once or declines.
SMALLEST = {
    "format": "spillway-step", "version": 2, "graph": "check", "samples": 1, "source": {"assumed": "check"}, "error": 0.1,
    "values": [{"id": "w", "bytes": 4, "class": "weight"}],
    "nodes": [{"id": "f", "op": "f", "pass": "forward", "ns": 1, "deps": ["w"], "results": [{"id": "y", "bytes": 4}]},
              {"id": "b", "op": "b", "pass": "backward", "ns": 1, "deps": ["y"], "results": [{"id": "g", "bytes": 4}]}]}


class SpillwayError(RuntimeError):
    """The program's own message. `status`: what it exited with."""

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(message)
        self.status = status


def size_in_words(memory: Any) -> str:
    """Bytes as a number, or a size with its unit, as the program reads it. SpillwayError: it is neither."""
    if isinstance(memory, str):
        return _size_of_text(memory)
    count = None if isinstance(memory, bool) or not isinstance(memory, numbers.Real) else memory
    if count is None or not math.isfinite(count) or not 1 <= count < MOST:
        raise _no_size(memory)
    whole = int(count)
    for unit in ("GB", "MB", "kB"):
        if whole % UNITS[unit] == 0:
            return "%d %s" % (whole // UNITS[unit], unit)
    return "%d B" % whole


def _size_of_text(memory: str) -> str:
    """The rules are those of hw/text/units.cc."""
    found = SIZE.fullmatch(memory)
    if found is None or found.group(2) not in UNITS:
        raise _no_size(memory)
    number, factor = float(found.group(1)), UNITS[found.group(2)]
    if not 0.5 <= number * factor < MOST or (factor == 1 and not number.is_integer()):
        raise _no_size(memory)
    return memory


def _no_size(memory: Any) -> SpillwayError:
    return SpillwayError("memory: expected bytes as a number, or a size such as '11 GB', found %r" % (memory,))


def words_of(memory: Any, **options: Any) -> List[str]:
    """The command line's options. SpillwayError: one has the wrong type."""
    words = ["--memory", size_in_words(memory)]
    for name in ("strategy", "machine", "link"):
        if not isinstance(options[name], str) and (options[name] is not None or name == "strategy"):
            raise SpillwayError("%s: expected a text, found %r" % (name, options[name]))
    for name, value in options.items():
        words += [] if value is None else ["--" + name, str(value)]
    return words


def in_words_of_python(told: str) -> str:
    """A message of the program with the names of arguments for those of its options."""
    told = re.sub(r" \(spillway help plan\)", "", told.replace("--strategies", "--strategy"))
    told = re.sub(r"(?m)^plan: (?=--)", "", told)
    told = re.sub(r"--(link|memory) ([0-9]\w*(?:/s)?)", r'\1="\2"', told)
    return re.sub(r"--(?=(?:memory|strategy|machine|margin|link)\b)", "", told)


def check_asked(program: str, memory: Any, **options: Any) -> str:
    """Asks the program once, with a step of two calls; the memory as a text. SpillwayError: no step can be planned so."""
    words = words_of(memory, **options)
    size, words[1] = words[1], HUGE  # whether a step fits is no question yet
    with tempfile.TemporaryDirectory(prefix="spillway-") as folder:
        path = os.path.join(folder, "step.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(SMALLEST, file)
        status, told = run([program, "plan", path, "--for", "torch", "-o", os.path.join(folder, "plan.json")] + words)
    if status not in (0, 3):  # 3: the strategy declines so small a step
        raise SpillwayError(in_words_of_python(told) or "the program ended with status %d" % status, status)
    return size
