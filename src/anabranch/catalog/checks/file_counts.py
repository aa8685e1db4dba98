"""Check how many files commits say that there are: earlier versions counted wrongly where writers were at once."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.catalog import history
from anabranch.catalog.checks.look_ups import LookUps, Miscount
from anabranch.model.clock import Clock, Position
from anabranch.model.verification import KnownFault

_HARMLESS = "nothing needs to be done: nothing reads this number, and later commits count what is there"


def check_file_counts(known: LookUps) -> None:
    """Report the commits that say a wrong number of files, by all that was miscounted before them.

    A commit that says the right number again is not as many files as the wrong number before it and its changes make.
    """
    by_tree: dict[str, list[Miscount]] = {}
    for miscount in known.miscounts:
        by_tree.setdefault(miscount.row.thing_id, []).append(miscount)
    for tree, miscounts in by_tree.items():
        for miscount in miscounts:
            clock = history.clock(known.reader.cx, miscount.position)
            missing = _missing(clock, miscounts, known.tree_begins.get(tree, ()))
            if missing:
                known.reader.damages.append(_fault(miscount, missing))


def _missing(clock: Clock, miscounts: Sequence[Miscount], begins: Sequence[Position]) -> int:
    """How many files the commit of a clock does not count, since the last commit that begins a tree."""
    start = max((_place(clock, p) for p in begins if clock.holds(p)), default=(0, 0))
    on_way = [m for m in miscounts if clock.holds(m.position)]
    return sum(m.expected - m.row.row_count for m in on_way if _place(clock, m.position) >= start)


def _place(clock: Clock, position: Position) -> tuple[int, int]:
    """Where a commit is on the way from the root to the clock's."""
    lines = [p.line for p in clock.positions]
    return len(lines) - lines.index(position.line), position.index


def _fault(miscount: Miscount, missing: int) -> KnownFault:
    said = miscount.row.row_count
    what = (
        f"it says {said} as the number of files, and there are {said + missing}: "
        "an earlier version counted wrongly what several writers committed at the same time"
    )
    where = f"commit {miscount.affects.commit}"
    return KnownFault("commit", where, what, miscount.affects, _HARMLESS)
