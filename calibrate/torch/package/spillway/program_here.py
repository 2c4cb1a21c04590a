"""The program `spillway` that came with this package."""
import os
import sys
from typing import List, NoReturn, Optional

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "program")


def program() -> Optional[str]:
    """Its path, or that in SPILLWAY_PROGRAM; None: this copy of the package holds none."""
    path = os.environ.get("SPILLWAY_PROGRAM") or os.path.join(FOLDER, "spillway")
    return path if os.access(path, os.X_OK) else None


def version() -> str:
    """Of the package, by the books of its installation; "0": it was not installed."""
    from importlib.metadata import PackageNotFoundError, version as installed
    try:
        return installed("spillway")
    except PackageNotFoundError:
        return "0"


def main(words: Optional[List[str]] = None) -> NoReturn:
    """`spillway` on the path: this process becomes the program."""
    path = program()
    if path is None:
        sys.exit("spillway: the program is missing in %s: install the package again" % FOLDER)
    os.execv(path, ["spillway"] + (sys.argv[1:] if words is None else words))
