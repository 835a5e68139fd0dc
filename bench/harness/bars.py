"""Whether a demand is met. Pure functions of medians."""
from __future__ import annotations

from fnmatch import fnmatchcase
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
    "share_at_most": (lambda who, peer: who / peer, False, "at most {limit:.3g} times {peer}", "≤ {limit:.3g} × {peer}"),
    "beside_half_more": (lambda who, peer: (who - 1.5 * peer) / 8, False, "beside 1.5 times {peer} at most {limit:.3g} {unit} for each of 8 workers",
                         "≤ 1.5 × {peer} + 8 × {limit:.3g} {unit}"),
    "at_most": (lambda who, peer: who, False, "at most {limit:.3g} {unit}", "≤ {limit:.3g} {unit}"),
}


def wording(bar: Bar, unit: str, short: bool = False) -> str:
    peer = ("the best of " if "*" in (bar.peer or "") else "") + (bar.peer or "") + (f" in {bar.case}" if bar.case else "")
    return KINDS[bar.kind][3 if short else 2].format(limit=bar.limit, peer=peer, unit=unit)


def peer_value(bar: Bar, values: Mapping[str, Value]) -> Optional[Value]:
    """The named one, or the best (all metrics are the lower the better) of those that match a pattern, but for the judged one."""
    if "*" not in (bar.peer or ""):
        return values.get(bar.peer or "")
    matching = [value for name, value in values.items() if fnmatchcase(name, bar.peer) and name != bar.who]
    return min(matching, key=lambda value: value.median, default=None)


def judge(bar: Bar, values: Mapping[str, Value], peers: Optional[Mapping[str, Value]] = None) -> Judgement:
    """A subject that failed misses its bar; a peer that is absent leaves it open. `peers`: the values of the row that the bar's
    peer is taken from, when that is another."""
    number, must_be_high, *_ = KINDS[bar.kind]
    if bar.who not in values:
        return "MISS", None
    peer = peer_value(bar, values if peers is None else peers)
    if bar.peer is not None and peer is None:
        return "n/a", None
    reached = number(values[bar.who].median, peer.median if peer else 0.0)
    met = reached >= bar.limit if must_be_high else reached <= bar.limit
    return ("PASS" if met else "MISS"), reached
