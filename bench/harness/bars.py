"""Whether a demand is met. Pure functions of medians."""
from __future__ import annotations

from typing import Callable, Mapping, Optional, Tuple

from .model import Bar, Value

Judgement = Tuple[str, Optional[float]]  # PASS, MISS or "n/a" (a peer is missing), and the number that was judged

# kind: (the number that is judged, from the subject's and the peer's median; whether that number must be high; its wording,
# in full and for a table)
KINDS: Mapping[str, Tuple[Callable[[float, float], float], bool, str, str]] = {
    "times_faster": (lambda who, peer: peer / who, True, "at least {limit:.3g} times faster than {peer}", "≥ {limit:.3g}× {peer}"),
    "ratio_at_most": (lambda who, peer: who / peer, False, "at most {limit:.3g} times {peer}", "time ≤ {limit:.3g} × {peer}"),
    "added_at_most": (lambda who, peer: who - peer, False, "at most {limit:.3g} {unit} more than {peer}",
                      "≤ {peer} + {limit:.3g} {unit}"),
    "at_most": (lambda who, peer: who, False, "at most {limit:.3g} {unit}", "≤ {limit:.3g} {unit}"),
}


def wording(bar: Bar, unit: str, short: bool = False) -> str:
    return KINDS[bar.kind][3 if short else 2].format(limit=bar.limit, peer=bar.peer, unit=unit)


def judge(bar: Bar, values: Mapping[str, Value]) -> Judgement:
    """A subject that failed misses its bar; a peer that is absent leaves it open."""
    number, must_be_high, *_ = KINDS[bar.kind]
    if bar.who not in values:
        return "MISS", None
    if bar.peer is not None and bar.peer not in values:
        return "n/a", None
    reached = number(values[bar.who].median, values[bar.peer].median if bar.peer else 0.0)
    met = reached >= bar.limit if must_be_high else reached <= bar.limit
    return ("PASS" if met else "MISS"), reached
