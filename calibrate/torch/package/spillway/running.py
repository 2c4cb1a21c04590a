"""Runs the program: its progress is shown while it runs, its last words are returned."""
import os
import re
import subprocess
import sys
from typing import List, Tuple

# A line that the program draws again and again on a terminal; elsewhere one a minute.
PROGRESS = re.compile(rb"\r[^\r\n]*?\x1b\[K|[^\n]*, after \d+ min\r?\n")


def run(words: List[str]) -> Tuple[int, str]:
    """(exit status, what it said at the end on standard error). On a terminal the program gets one, and draws its line."""
    ours, theirs = _ends()
    try:
        child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs)
    except OSError:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    try:
        told = _told(ours)
        return child.wait(), told
    except BaseException:  # Ctrl-C, above all
        child.kill()
        child.wait()
        raise
    finally:
        os.close(ours)


def _ends() -> Tuple[int, int]:
    if sys.stderr is not None and sys.stderr.isatty():
        import pty
        return pty.openpty()
    return os.pipe()


def _told(stream: int) -> str:
    """All but the progress, which is shown at once."""
    held = b""
    while True:
        try:
            more = os.read(stream, 65536)
        except OSError:  # a terminal whose other end is closed
            more = b""
        held += more
        for drawn in PROGRESS.findall(held):
            _show(drawn)
        held = PROGRESS.sub(b"", held)
        if not more:
            return held.decode("utf-8", "replace").replace("\r\n", "\n").strip()


def _show(drawn: bytes) -> None:
    if sys.stderr is not None:
        sys.stderr.write(drawn.decode("utf-8", "replace"))
        sys.stderr.flush()
