"""`spillway.plan`: a plan of a recorded step, made by the program."""
import json
import os
import subprocess
import tempfile
from typing import Any, Dict, List, Optional, Union

from .asked import SpillwayError, check_asked, in_words_of_python, words_of
from .program_here import FOLDER, program, version
from .running import run

Step = Union[str, "os.PathLike[str]", Dict[str, Any]]
Memory = Union[str, int, float]


class DoesNotFit(SpillwayError):
    """No strategy fits into the memory; the message names the smallest reason."""


class Plan:
    """A plan file's `content`, as `spillway.torch.apply` takes it. Bytes of the device, seconds of a step."""

    def __init__(self, content: Dict[str, Any], told: str = "") -> None:
        self.content = content
        self.told = told  # what the program said beside it
        self.strategy: str = content.get("strategy", "")
        self.peak_bytes: int = content["peak_bytes"]
        self.capacity_bytes: int = content["capacity_bytes"]
        self.host_bytes: int = content["host_bytes"]
        self.step_s: float = content["step_time_ns"] / 1e9

    def moves(self) -> bool:
        """Whether it swaps or recomputes anything. Otherwise plain training is the plan."""
        return any(any(kind["before"].values()) for kind in [self.content] + self.content.get("more", []))

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the file, or nothing of it."""
        name = os.path.abspath(os.fspath(path))
        handle, temporary = tempfile.mkstemp(".tmp", os.path.basename(name) + ".", os.path.dirname(name))
        try:
            with open(handle, "w", encoding="utf-8") as file:
                json.dump(self.content, file)
            os.chmod(temporary, _usual_mode())
            os.replace(temporary, name)
        finally:
            if os.path.exists(temporary):
                os.remove(temporary)

    def __repr__(self) -> str:
        return "<Plan by %s: peak %.3g of %.3g GB, %.3g s a step>" % (
            self.strategy, self.peak_bytes / 1e9, self.capacity_bytes / 1e9, self.step_s)


def plan(step: Step, memory: Memory, strategy: str = "best", machine: Optional[str] = None,
         margin: Optional[float] = None, link: Optional[str] = None) -> Plan:
    """The plan of a recorded step (a file, or what `spillway.torch.record` returned) for a card of so much memory.

    `memory`: "11 GB", or bytes as a number. `margin`: percent of the card left free, 10 unless given. `link`: rate of
    copies. Long searches show their progress. DoesNotFit, SpillwayError: with the program's message; nothing is written then.
    """
    words = words_of(memory, strategy=strategy, machine=machine, margin=margin, link=link)
    found = checked_program()
    with tempfile.TemporaryDirectory(prefix="spillway-") as folder:
        path, out = _file_of(step, folder), os.path.join(folder, "plan.json")
        return _made([found, "plan", path, "--for", "torch", "-o", out] + words, out)


def check(memory: Memory, strategy: str = "best", machine: Optional[str] = None, margin: Optional[float] = None,
          link: Optional[str] = None) -> str:
    """The memory as a text, if steps can be planned with these arguments of `plan`.

    SpillwayError: they cannot; the message names the argument.
    """
    return check_asked(checked_program(), memory, strategy=strategy, machine=machine, margin=margin, link=link)


def checked_program() -> str:
    """The program. SpillwayError: there is none, or it is of another version than the package."""
    found = program()
    if found is None:
        raise SpillwayError("no program %s: install the package again, or name a program in SPILLWAY_PROGRAM"
                            % (os.environ.get("SPILLWAY_PROGRAM") or os.path.join(FOLDER, "spillway")))
    try:
        told = subprocess.run([found, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout.decode()
    except OSError as error:
        raise SpillwayError("%s cannot be run (%s): install the package again" % (found, error.strerror))
    words = told.split()
    if words[:1] != ["spillway"] or (version() != "0" and words[1:2] != [version()]):
        raise SpillwayError("%s says '%s', and the package is spillway %s: install the package again"
                            % (found, told.strip().split("\n")[0][:80], version()))
    return found


def _usual_mode() -> int:
    """Of a file that `open` makes."""
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask


def _file_of(step: Step, folder: str) -> str:
    if not isinstance(step, dict):
        return os.fspath(step)
    path = os.path.join(folder, "step.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(step, file)
    return path


def _made(words: List[str], out: str) -> Plan:
    status, told = run(words)
    if status == 3:
        raise DoesNotFit(in_words_of_python(told), status)
    if status:
        raise SpillwayError(in_words_of_python(told) or "the program ended with status %d" % status, status)
    with open(out, encoding="utf-8") as file:
        return Plan(json.load(file), told)
