"""Runs cases of a file of tests: all, or those that the command line names. Exit status 1: one failed."""
import sys
import time
import traceback

import torch


def expect(true, told):
    if not true:
        raise AssertionError(told)


def run(cases):
    """`cases`: functions without arguments by name."""
    chosen = sys.argv[1:] or list(cases)
    unknown = [name for name in chosen if name not in cases]
    if unknown:
        sys.exit("no case '%s': expected one of %s" % (unknown[0], ", ".join(cases)))
    failed, begun = 0, time.process_time()
    for name in chosen:
        start = time.process_time()
        try:
            cases[name]()
        except Exception:
            traceback.print_exc()
            print("FAILED: %s" % name)
            failed += 1
        if time.process_time() - start > 2:
            print("%.1f s of processor: %s" % (time.process_time() - start, name))
    print("PyTorch %s: %d cases, %d failed, %.0f s of processor" % (torch.__version__, len(chosen), failed,
                                                                    time.process_time() - begun))
    sys.exit(failed > 0)
