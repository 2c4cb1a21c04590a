"""What torch_steps.py and torch_convolutions.py share and PyTorch is not needed for: words of the command line, and files
of rows, each written as soon as it is known."""
import argparse
import csv
import difflib
import importlib
import os
import sys

class Mistake(Exception):
    """The user's: one line, exit status 2."""


def run_script(name, run):
    """The exit status."""
    try:
        return run()
    except Mistake as mistake:
        print(f"{name}: error: {mistake}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def parser_of(text):
    """Its errors are Mistakes."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage=argparse.SUPPRESS, allow_abbrev=False)
    parser.error = lambda message: (_ for _ in ()).throw(Mistake(message))
    return parser


def one_of(word, names, what):
    if word in names:
        return word
    near = difflib.get_close_matches(word, names, 1)
    raise Mistake(f"{what}: {word!r} is none of {', '.join(names)}" + (f"; did you mean {near[0]!r}?" if near else ""))


def list_of(words, names, what):
    return [one_of(word, names, what) for word in words.split(",")]


def needing_torch(name):
    """The module, whose half of a script needs PyTorch."""
    try:
        return importlib.import_module(name)
    except (ImportError, OSError) as error:
        raise Mistake(f"PyTorch is missing: {' '.join(str(error).split())}")


def quantile(values, q):
    """Of at least one, interpolated."""
    values = sorted(values)
    at = q * (len(values) - 1)
    low = int(at)
    return values[low] + (at - low) * (values[min(low + 1, len(values) - 1)] - values[low])


def read_table(path):
    """Names of columns, and rows."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            return list(reader.fieldnames or []), list(reader)
    except (OSError, UnicodeError, csv.Error) as error:
        raise Mistake(f"{path}: {getattr(error, 'strerror', None) or error}")


class Journal:
    """Rows on disk; a last line that was torn when the process was killed is dropped. `key`: rows that agree in these
    columns are the same measurement; `result`: the columns behind them."""

    def __init__(self, path, key, result):
        self.path = path
        self.key, self.columns = key, key + result
        self.rows = {}
        try:
            self._open()
        except OSError as error:
            raise Mistake(f"{path}: {error.strerror}")

    def _open(self):
        whole = self._drop_torn_line()
        if whole == 0:
            return self._append(",".join(self.columns) + "\n")
        names, rows = read_table(self.path)
        if names != self.columns:
            raise Mistake(f"{self.path}: has other columns than this script writes; name another file with -o")
        self.rows = {self._key_of(row): row for row in rows}

    def _key_of(self, row):
        return tuple(str(row[name]) for name in self.key)

    def _drop_torn_line(self):
        """The bytes that are left."""
        if not os.path.exists(self.path):
            return 0
        with open(self.path, "rb+") as file:
            whole = file.read().rfind(b"\n") + 1
            file.truncate(whole)
        return whole

    def _append(self, text):
        with open(self.path, "a", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())

    def __contains__(self, row):
        return self._key_of(row) in self.rows

    def add(self, row):
        cells = [text_of(row.get(name, "")) for name in self.columns]
        self.rows[self._key_of(row)] = dict(zip(self.columns, cells))
        self._append(",".join(quoted(cell) for cell in cells) + "\n")


def text_of(value):
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def quoted(cell):
    return '"' + cell.replace('"', '""') + '"' if any(c in cell for c in ',"\r\n') else cell
