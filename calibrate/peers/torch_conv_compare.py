"""Spillway's convolutions beside PyTorch's: rows of a samples file and of torch_convolutions.py."""
import collections
import re
import statistics

from torch_compare import aligned
from torch_conv_rows import BETWEEN_KERNELS, KEY, LAYERS, PRECISIONS, RESULT, SHAPE, cases_of
from torch_rows import Mistake, read_table

COLUMNS = ("<layer", "<shape", "<pass", "best", "<algorithm", "default", "<algorithm", "PyTorch", "<80 %", "best/",
           "default/", "<its kernel")
OURS = {"device", "op", "pass", "algorithm", "median_us", "n", "c", "h", "w", "k", "r"}
THEIRS = set(KEY + RESULT)
LONGEST_NAME = 60  # of a kernel
MOST_NAMED = 3  # cases in a line of doubts


# ---- Spillway's rows


def is_comparable(row):
    """A plain convolution that nothing disturbed, its operands not in the cache by purpose."""
    usual = {"op": ("conv", "convolution"), "status": ("", "ok", "slow"), "kind": ("", "step", "cold"),
             "contention": ("", "none"), "accumulate": ("", "0"), "groups": ("", "1"), "d": ("", "1"), "t": ("", "1"),
             "pad_w": ("", row.get("pad")), "stride_w": ("", row.get("stride"))}
    return all((row.get(name) or "") in words for name, words in usual.items())


def place_of(row):
    """What is computed, as in a Case's cells; what may be left out of a samples file has its default."""
    precision = row.get("precision") or "fp32"
    math = row.get("math") or precision
    cells = {**row, "precision": precision, "math": "fma" if math == "fp32" else math,
             "layout": row.get("layout") or "nchw", "s": row.get("s") or row["r"], "pad": row.get("pad") or "0",
             "stride": row.get("stride") or "1"}
    return tuple(cells[name] for name in ["pass", "math", "precision", "layout"] + SHAPE)


def place_of_case(case):
    cells = case.cells()
    return tuple(str(cells[name]) for name in ["pass", "math", "precision", "layout"] + SHAPE)


def microseconds(path, row, name="median_us"):
    try:
        value = float(row[name])
    except (TypeError, ValueError):
        value = 0.0
    if not 0 < value < float("inf"):
        raise Mistake(f"{path}: {name}: {row[name]!r} is no time")
    return value


def is_clean(row):
    said = (row.get("flags") or "") + "; " + (row.get("note") or "")  # earlier journals have their flags in the note
    return not any(flag in said for flag in ("noisy", "throttled", "cut short"))


def rank_of(row):
    text = row.get("heuristic_rank") or ""
    return int(text) if text.isdigit() else None


class Ours:
    """One place: microseconds by algorithm, medians over rounds, and the library's first choice of those measured."""

    def __init__(self, path, rows):
        rows = [row for row in rows if row.get("kind") == "cold"] or rows  # as PyTorch's are
        self.times, ranks = {}, {}
        for name in {row["algorithm"] for row in rows}:
            alike = [row for row in rows if row["algorithm"] == name]
            good = [row for row in alike if is_clean(row)] or alike
            self.times[name] = statistics.median(microseconds(path, row) for row in good)
            ranks[name] = min((rank_of(row) for row in alike if rank_of(row) is not None), default=None)
        self.best = min(sorted(self.times), key=self.times.get)
        ranked = [name for name in sorted(ranks) if ranks[name] is not None]
        self.default = min(ranked, key=ranks.get, default=None)
        self.rank = ranks.get(self.default)

    def best_cells(self):
        return [f"{self.times[self.best]:.1f}", self.best or "?"]

    def default_cells(self):
        if self.default is None:
            return ["-", ""]
        return [f"{self.times[self.default]:.1f}", self.default + (f" (rank {self.rank})" if self.rank else "")]


def our_places(path, rows, wanted):
    places = collections.defaultdict(list)
    for row in filter(is_comparable, rows):
        place = place_of(row)
        if place in wanted:
            places[place].append(row)
    return places


# ---- PyTorch's rows


def short_name(kernel):
    """Without return type, arguments, and the template that all of a library's kernels are in."""
    name = re.sub(r"^void ", "", kernel)
    name = re.sub(r"^[\w:]*Kernel\w*<([^<>]*).*", r"\1", name)
    name = re.split(r"[(<]", name, maxsplit=1)[0].rpartition("::")[2]
    return name if len(name) <= LONGEST_NAME else name[:LONGEST_NAME - 3] + "..."


class Theirs:
    """One row. `time`: None where PyTorch did not compute it."""

    def __init__(self, path, row):
        self.reason = row["reason"] or row["status"]
        self.time = microseconds(path, row) if row["median_us"] else None
        self.low, self.high = (microseconds(path, row, name) if self.time else None for name in ("p10_us", "p90_us"))
        kernels = (row["kernels"] or "").split(BETWEEN_KERNELS)
        self.kernels = [text.partition(" ")[2] for text in kernels if text]

    def is_in_tf32(self):
        """As far as names tell: products of fp32 operands in steps of 16 x 8 x 8 are TF32's."""
        return any(re.search("tf32|s1688", name, re.IGNORECASE) for name in self.kernels)

    def cells(self):
        return [f"{self.time:.1f}", f"{self.low:.1f}-{self.high:.1f}"]

    def kernel(self):
        if not self.kernels:
            return "?"
        return short_name(self.kernels[0]) + (f" and {len(self.kernels) - 1} more" if len(self.kernels) > 1 else "")


def stack_of(row):
    limit = f", of at most {row['benchmark_limit']} ways to compute" if row["benchmark_limit"] not in ("", "0") else ""
    return f"PyTorch {row['torch']} on {row['gpu'] or row['device']}, CUDA {row['cuda']}, cuDNN {row['cudnn']}{limit}"


# ---- the table


def line_of(case, ours, theirs):
    cells = [f"{case.layer.network} {case.layer.name}", case.layer.shape_text(), case.which]
    cells += ours.best_cells() + ours.default_cells() if ours else ["-", "", "-", ""]
    measured = theirs is not None and theirs.time is not None
    cells += theirs.cells() if measured else ["-", ""]
    both = ours and measured
    cells.append(f"{ours.times[ours.best] / theirs.time:.2f}" if both else "-")
    cells.append(f"{ours.times[ours.default] / theirs.time:.2f}" if both and ours.default is not None else "-")
    return cells + [theirs.kernel() if measured else theirs.reason if theirs else "not measured"]


def ratio_text(ratios, what):
    return f"{statistics.median(ratios):.2f}{what} (median of {len(ratios)}; {min(ratios):.2f} to {max(ratios):.2f})"


def verdict(precision, pairs):
    """`pairs`: those that both sides have."""
    if not pairs:
        return f"{precision}: nothing that both have measured, so nothing is claimed\n"
    text = ratio_text([ours.times[ours.best] / theirs.time for ours, theirs in pairs], " of PyTorch's time")
    ranked = [ours.times[ours.default] / theirs.time for ours, theirs in pairs if ours.default is not None]
    return (f"{precision}: Spillway's fastest algorithm takes {text}" +
            (f", the library's default {ratio_text(ranked, '')}" if ranked else "") + "\n")


def listed(what, cases):
    names = [f"{case.layer.name} {case.which}" for case in cases[:MOST_NAMED]]
    more = ["..."] if len(cases) > MOST_NAMED else []
    return f"  {what}: {len(cases)} ({', '.join(names + more)})\n" if cases else ""


def doubts(precision, cases, ours, theirs):
    """What is missing, and where kernels do not say what the precision says."""
    measured = {case: row for case, row in theirs.items() if row.time is not None}
    named = {case: row for case, row in measured.items() if row.kernels}
    text = listed("not measured by Spillway", [c for c in cases if c not in ours])
    text += listed("not measured by PyTorch", [c for c in cases if c not in theirs])
    text += listed("failed in PyTorch", [c for c in cases if c in theirs and c not in measured])
    text += listed("PyTorch's kernels not known", [c for c in cases if c in measured and c not in named])
    if precision == "tf32":
        text += listed("computed by no kernel of TF32", [c for c in cases if c in named and not named[c].is_in_tf32()])
    if precision == "fp32":
        text += listed("NOT IN FP32 but by a kernel of TF32", [c for c in cases if c in named and named[c].is_in_tf32()])
    return text


def block(precision, ours, theirs):
    cases = cases_of(LAYERS, [precision])
    known = [case for case in cases if case in ours or case in theirs]
    if not known:
        return "", verdict(precision, [])
    _, _, layout = PRECISIONS[precision]
    table = aligned([line_of(case, ours.get(case), theirs.get(case)) for case in known], COLUMNS)
    pairs = [(ours[c], theirs[c]) for c in cases if c in ours and c in theirs and theirs[c].time is not None]
    return (f"{precision}, {layout}; medians in us\n{table}\n",
            verdict(precision, pairs) + doubts(precision, cases, ours, theirs))


LEGEND = """\
best: Spillway's fastest algorithm of all measured; default: the library's own first choice of those. best/, default/:
their times over PyTorch's, above 1 where PyTorch is faster. 80 %: from PyTorch's 10th to its 90th percentile. Its
kernel: the longest of one run. Spillway's rows of kind `step` find in the cache what a step leaves there, PyTorch's
find nothing there: --help says more.
"""


def split(paths):
    """Spillway's rows and PyTorch's, and a file of each for messages; each file says by its columns what it is."""
    found = {True: ([], ""), False: ([], "")}
    for path in paths:
        names, rows = read_table(path)
        own = "kernels" not in names
        missing = (OURS if own else THEIRS) - set(names)
        if missing:
            raise Mistake(f"{path}: is neither a samples file nor written by torch_convolutions.py: "
                          f"no column {min(missing)}")
        found[own] = found[own][0] + rows, path
    for own, who in ((True, "Spillway"), (False, "PyTorch")):
        if not found[own][0]:
            raise Mistake(f"--compare: no rows of {who} among {' '.join(paths)}")
    return found[True], found[False]


def our_stacks(rows):
    return sorted({(row["device"], row.get("cudnn") or "") for row in rows})


def compare(paths):
    """The text; a part for each PyTorch and GPU among the rows."""
    (our_rows, our_path), (their_rows, their_path) = split(paths)
    cases = cases_of(LAYERS, list(PRECISIONS))
    places = our_places(our_path, our_rows, {place_of_case(case) for case in cases})
    ours = {case: Ours(our_path, places[place_of_case(case)]) for case in cases if place_of_case(case) in places}
    used = our_stacks(row for rows in places.values() for row in rows)
    if len(used) > 1:
        raise Mistake(f"--compare: Spillway's rows are of several GPUs or libraries: "
                      f"{', '.join(f'{device} with cuDNN {cudnn}' for device, cudnn in used)}")
    text = ""
    for stack in sorted({stack_of(row) for row in their_rows}):
        rows = {place_of(row): Theirs(their_path, row) for row in their_rows if stack_of(row) == stack}
        theirs = {case: rows[place_of_case(case)] for case in cases if place_of_case(case) in rows}
        parts = [block(precision, ours, theirs) for precision in PRECISIONS]
        text += "".join(table for table, _ in parts) + "".join(said for _, said in parts) + stack + "\n"
    for device, cudnn in used:
        text += f"Spillway on {device}, cuDNN {cudnn or '?'}\n"
        others = sorted({row["gpu"] for row in their_rows} - {device, ""})
        text += f"NOT THE SAME GPU: {', '.join(others)}\n" if others else ""
    return text + LEGEND
