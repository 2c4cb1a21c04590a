"""Plans of `auto` in the user's cache folder, which `spillway --version --verbose` names: one file a digest."""
import hashlib
import json
import os

from carry_plan import plans_of
from watch import write_whole

CACHE_FORMAT, CACHE_VERSION = "spillway-auto", 1


def cache_folder():
    """The rule is that of scenarios/cli/version.cc."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    base = named if named.startswith("/") else os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "spillway", "plans")


def whole(plan, in_core, **_):
    """False, or an error of a kind that `load` expects: the file is damaged."""
    plans_of(plan, "the cached plan")
    return all(isinstance(in_core[key], (int, float)) for key in ("peak_bytes", "step_time_ns", "spread"))


class CachedPlan:
    """The file of one loop, whether it is there or not."""

    def __init__(self, facts):
        digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]
        self.path = os.path.join(cache_folder(), digest + ".json")

    def load(self):
        """(plan file's content, in-core facts); None: it is not there, or it is no such file."""
        try:
            with open(self.path, encoding="utf-8") as file:
                content = json.load(file)
            if (content["format"], content["version"]) == (CACHE_FORMAT, CACHE_VERSION) and whole(**content):
                return content["plan"], content["in_core"]
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            pass
        return None

    def store(self, plan, in_core):
        """Whole or not at all. OSError: the folder takes no file."""
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        write_whole(self.path, {"format": CACHE_FORMAT, "version": CACHE_VERSION, "plan": plan, "in_core": in_core})

    def forget(self):
        try:
            os.remove(self.path)
        except OSError:
            pass
