"""Medians and spreads of repeated runs."""
from __future__ import annotations

from typing import Sequence

from .model import Value


def median(values: Sequence[float]) -> float:
    if not values:
        raise ValueError("median of nothing")
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def quantile(values: Sequence[float], fraction: float) -> float:
    """Linear between the two nearest ranks."""
    if not values:
        raise ValueError("quantile of nothing")
    ordered = sorted(values)
    position = fraction * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def summary(values: Sequence[float]) -> Value:
    """The spread is the middle half: one disturbed run of a shared machine must not widen it."""
    return Value(median(values), quantile(values, 0.25), quantile(values, 0.75))


def ratio_spread(numerators: Sequence[float], denominators: Sequence[float]) -> Value:
    """Of runs that alternated: round i of one against round i of the other, so that a slow minute hits both."""
    return summary([above / below for above, below in zip(numerators, denominators)])
