"""Spillway: which mix of swapping and recomputation trains a network beyond GPU memory, how long a step takes, how sure.

    plan = spillway.plan("step.json", memory="11 GB")   # by the program that this package holds
    plan.save("plan.json")

`spillway.torch` records steps and carries plans out; it needs PyTorch. Nothing is imported before it is asked for.
"""
from .planning import DoesNotFit, Plan, SpillwayError, plan
from .program_here import version

__version__ = version()
__all__ = ["DoesNotFit", "Plan", "SpillwayError", "plan"]
