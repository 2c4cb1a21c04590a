"""Spillway's steps beside PyTorch's: rows of validation.csv and of torch_steps.py at the same network, batch, limit."""
import collections

from torch_rows import Mistake, read_table

COLUMNS = ("<", "<strategy", "<", "predicted", "measured", "images/s", "peak GB", "host GB")


NUMBERS = ("batch", "memory_limit_bytes", "predicted_s", "measured_s", "measured_peak_bytes", "predicted_peak_bytes",
           "peak_reserved_bytes", "peak_allocated_bytes", "measured_host_bytes")


def number(row, name, scale=1.0):
    """None where the cell is empty or not there."""
    text = row.get(name) or ""
    return float(text) / scale if text else None


def check_numbers(path, rows):
    for k, row in enumerate(rows):
        for name in NUMBERS:
            try:
                number(row, name)
            except ValueError:
                raise Mistake(f"{path}: row {k + 1}: {name}: {row[name]!r} is no number")


def read(paths):
    """Rows of validations, and of PyTorch; each file says by its columns what it is."""
    ours, theirs = [], []
    for path in paths:
        names, rows = read_table(path)
        missing = {"network", "batch", "memory_limit_bytes", "strategy", "measured_s"} - set(names)
        if missing or not ("predicted_s" in names or "torch" in names):
            raise Mistake(f"{path}: is neither a validation.csv nor written by torch_steps.py: "
                          f"no column {min(missing) if missing else 'predicted_s'}")
        check_numbers(path, rows)
        (ours if "predicted_s" in names else theirs).extend(rows)
    if not ours or not theirs:
        raise Mistake(f"--compare: no rows of {'PyTorch' if ours else 'Spillway'} among {' '.join(paths)}")
    return ours, theirs


def is_as_is(row):
    """Not of another machine's balance, nor of a plan that nobody would choose."""
    return "+emulate=" not in row.get("machine", "") and row.get("kind") != "random"


def limit_of(row):
    return int(number(row, "memory_limit_bytes") or 0)


def place_of(row):
    return row["network"], int(number(row, "batch") or 0)


def shown(value, digits):
    return "" if value is None else f"{value:.{digits}f}"


class Line:
    """Of the table: one plan or mode. `time`: seconds, None where it does not run; `reason`: why."""

    def __init__(self, row, who, label, peaks, comparable):
        self.who, self.label, self.comparable = who, label, comparable
        self.predicted, self.time = number(row, "predicted_s"), number(row, "measured_s")
        self.rate = number(row, "batch") / self.time if self.time else None
        self.peak = next((p for p in (number(row, name, 1e9) for name in peaks) if p is not None), None)
        self.host = number(row, "measured_host_bytes", 1e9)
        self.reason = row.get("reason") or "not measured"
        self.best = ""

    def cells(self):
        if self.time is None:
            return [self.who, self.label, "", shown(self.predicted and 1e3 * self.predicted, 1), self.reason]
        return [self.who, self.label, self.best, shown(self.predicted and 1e3 * self.predicted, 1),
                shown(1e3 * self.time, 1), shown(self.rate, 0), shown(self.peak, 2), shown(self.host, 2)]


def our_line(row):
    return Line(row, "Spillway", row["strategy"], ("measured_peak_bytes", "predicted_peak_bytes"), True)


def their_line(row, limit, stacks):
    label = row["strategy"]
    if row.get("math", "fma") != "fma":
        label += " " + row["math"]
    if limit_of(row) != limit:
        label += ", no limit"
    if len(stacks) > 1:
        label += f" [{stacks.index(stack_of(row)) + 1}]"
    comparable = limit_of(row) == limit and row.get("math", "fma") == "fma"
    return Line(row, "PyTorch", label, ("peak_reserved_bytes", "peak_allocated_bytes"), comparable)


def stack_of(row):
    allocator = f", allocator {row['allocator']}" if row.get("allocator") else ""
    return (f"PyTorch {row.get('torch', '')} on {row.get('gpu', '')}, CUDA {row.get('cuda', '')}, "
            f"cuDNN {row.get('cudnn', '')}{allocator}")


def fastest(lines, who):
    found = [line for line in lines if line.who == who and line.comparable and line.time]
    best = min(found, key=lambda line: line.time, default=None)
    if best:
        best.best = "best"
    return best


def verdict(ours, theirs):
    if not ours or not theirs:
        return f"{'PyTorch' if ours else 'Spillway'}: nothing was measured within this limit\n"
    text = (f"Spillway's best takes {ours.time / theirs.time:.2f} of the time of PyTorch's best "
            f"({ours.label} {1e3 * ours.time:.1f} ms, {theirs.label} {1e3 * theirs.time:.1f} ms)")
    return text + (f"; predicted {ours.predicted / theirs.time:.2f}\n" if ours.predicted else "\n")


def aligned(rows, columns=COLUMNS):
    """A column is as wide as its widest cell, two spaces apart; a row with fewer cells ends in running text."""
    left = [name.startswith("<") for name in columns]
    rows = [[name.lstrip("<") for name in columns]] + rows
    full = [row for row in rows if len(row) == len(columns)]
    cut = [row[:-1] for row in rows if len(row) < len(columns)]
    widths = [max(len(row[k]) for row in full + cut if k < len(row)) for k in range(len(columns))]
    text = ""
    for row in rows:
        last = len(row) - 1 if len(row) < len(columns) else len(row)
        cells = [c if k >= last else c.ljust(widths[k]) if left[k] else c.rjust(widths[k]) for k, c in enumerate(row)]
        text += "  ".join(cells).rstrip() + "\n"
    return text


def block(place, limit, ours, theirs, stacks):
    lines = [our_line(row) for row in ours] + [their_line(row, limit, stacks) for row in theirs]
    best = fastest(lines, "Spillway"), fastest(lines, "PyTorch")
    lines.sort(key=lambda line: (line.who != "Spillway", not line.comparable, line.time or float("inf")))
    memory = f"{limit / 1e9:g} GB of device memory" if limit else "no limit"
    title = f"{place[0]}, batch {place[1]}, {memory}; times in ms\n"
    return title + aligned([line.cells() for line in lines]) + verdict(*best) + "\n"


LEGEND = """\
peak GB: of the arena, measured where it was, else predicted; of PyTorch's allocator, all that it reserved, which is
what its limit is for. Both without context and libraries. host GB: pinned, without what PyTorch's
allocator rounds up to. best: the fastest within the limit, in true fp32. Steps of PyTorch are timed like Spillway's, each alone: from first issue until the device is idle.
"""


def compare(paths):
    """The text. Places without rows of PyTorch are left out."""
    ours, theirs = read(paths)
    left_out = sum(not is_as_is(row) for row in ours)
    places = collections.OrderedDict()
    for row in filter(is_as_is, ours):
        places.setdefault((place_of(row), limit_of(row)), []).append(row)
    stacks = sorted({stack_of(row) for row in theirs})
    text, alone = "", 0
    for (place, limit), rows in places.items():
        peers = [row for row in theirs if place_of(row) == place and limit_of(row) in (limit, 0)]
        alone += not peers
        text += block(place, limit, rows, peers, stacks) if peers else ""
    for k, stack in enumerate(stacks):
        text += f"[{k + 1}] {stack}\n" if len(stacks) > 1 else f"{stack}\n"
    if left_out:
        text += f"left out: {left_out} rows of random plans and of emulated machines\n"
    if alone:
        text += f"left out, without rows of PyTorch: {alone} of {len(places)} points\n"
    return text + LEGEND
