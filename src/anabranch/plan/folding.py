"""Decide when to fold changes and which files to rewrite, from what the catalogue knows of a table's layers; and which
views gc removes: those that no ref reads and that nobody asked to keep."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from anabranch.model.clock import Position
from anabranch.model.garbage import ViewRecord
from anabranch.model.ids import LineId, ThingId, ViewId
from anabranch.model.layers import LayerIndex, as_layers
from anabranch.model.objects import KeyRange, Layer, ObjectKind, around
from anabranch.settings import TIER_FACTOR


@dataclass(frozen=True)
class Run:
    """The objects of one turn of the overlay: one commit's change, or a fold of several."""

    layers: tuple[Layer, ...]

    @property
    def row_count(self) -> int:
        return sum(x.object.row_count for x in self.layers)

    @property
    def loose(self) -> bool:
        """Whether no view holds it yet."""
        return self.layers[0].view is None


@dataclass(frozen=True)
class Limits:
    """What may be folded and rewritten at once."""

    fold_rows: int | None
    """Rows of the largest fold; None for any."""
    file_rows: int
    """Rows of a file of proper size; one with less than a quarter of it is small."""
    rewrite_rows: int | None
    """Rows of the largest file that is rewritten; None for any."""
    share: float
    """Share of a file's rows that the overlay must touch for the file to be rewritten."""
    turns: int
    """Turns of changes that a snapshot keeps for files that are not rewritten."""

    @property
    def small_rows(self) -> int:
        return self.file_rows // 4


def runs(layers: Iterable[Layer]) -> tuple[Run, ...]:
    """The overlay turn by turn, oldest first."""
    by_turn: dict[int, list[Layer]] = {}
    for layer in layers:
        if layer.view != "snapshot":
            by_turn.setdefault(layer.turn, []).append(layer)
    return tuple(Run(tuple(by_turn[turn])) for turn in sorted(by_turn))


def is_due(layers: Sequence[Layer], commit_limit: int, pending: int = 0) -> bool:
    """Tell whether enough commits changed the table since its newest view, counting `pending` ones."""
    return 0 < commit_limit <= len(as_layers(layers).loose_turns) + pending


def groups(overlay: Sequence[Run], limits: Limits) -> tuple[tuple[Run, ...], ...]:
    """Choose which neighbouring runs to fold into one, oldest first.

    Loose runs join their neighbours; a fold joins once those above it together have an eighth of its rows. So each
    tier is eight times as big as all above it together: there are two or three, and few rows are folded again.
    """
    found: list[list[Run]] = []
    size = 0
    for run in reversed(overlay):
        fits = limits.fold_rows is None or size + run.row_count <= limits.fold_rows
        joins = (
            bool(found)
            and fits
            and (run.loose or run.row_count <= TIER_FACTOR * size)
            and not _stands_alone(run, limits)
        )
        if joins and not _stands_alone(found[-1][0], limits):
            found[-1].insert(0, run)
            size += run.row_count
        else:
            found.append([run])
            size = run.row_count
    return tuple(tuple(group) for group in reversed(found))


def _stands_alone(run: Run, limits: Limits) -> bool:
    """Tell whether a run is rows alone, in files of proper size: folding it would gain nothing."""
    return all(x.object.kind == "rows" and x.object.row_count >= limits.small_rows for x in run.layers)


def kept_layers(layers: Sequence[Layer], rewritten: Iterable[Layer]) -> tuple[Layer, ...]:
    """What a snapshot keeps when some files are rewritten: the other rows, and the changes that may act on them."""
    gone = {_place(x) for x in rewritten}
    rows = [x for x in _rows(layers) if _place(x) not in gone]
    near = LayerIndex(rows)
    changes = [x for x in _changes(layers) if any(x.turn > r.turn for r in near.near(x.object.key_range))]
    return tuple(sorted((*rows, *changes), key=lambda x: x.turn))


def neighbours(chosen: Sequence[Layer], kept: Sequence[Layer]) -> tuple[tuple[Layer, ...], ...]:
    """Group the files that may be written as one: no kept file lies between them, so that key ranges stay apart."""
    taken = LayerIndex(chosen)
    free = LayerIndex([k for k in _rows(kept) if not any(taken.near(k.object.key_range))])
    found: list[list[Layer]] = []
    box: KeyRange | None = None
    for layer in sorted(chosen, key=lambda x: x.object.key_range.low if x.object.key_range else ()):
        wider = around([box, layer.object.key_range]) if found else layer.object.key_range
        if not found or (wider is not None and any(free.near(wider))):
            found.append([])
            wider = layer.object.key_range
        found[-1].append(layer)
        box = wider
    return tuple(tuple(group) for group in found)


def thick(layers: Sequence[Layer], limits: Limits) -> tuple[Layer, ...]:
    """The row files that the overlay changes most, by rows or by turns; those with the most changes first."""
    rows = _rows(layers)
    touched = _touched(rows, _changes(layers))
    shares = {n: found.rows / max(rows[n].object.row_count, 1) for n, found in touched.items()}
    found = [n for n in touched if shares[n] >= limits.share or len(touched[n].turns) > limits.turns]
    return tuple(rows[n] for n in sorted(found, key=lambda n: -shares[n]))


def small(layers: Sequence[Layer], limits: Limits) -> tuple[Layer, ...]:
    """The row files that are worth joining: small ones, if there are several."""
    found = tuple(x for x in _rows(layers) if x.object.row_count < limits.small_rows)
    return found if len(found) > 1 else ()


def joining(layers: Sequence[Layer], chosen: Sequence[Layer], crumbs: Sequence[Layer]) -> list[Layer]:
    """Small files to rewrite with the chosen ones; none that would be written alone, which would gain nothing."""
    both = [*chosen, *(x for x in crumbs if x not in chosen)]
    found = neighbours(both, kept_layers(layers, both)) if crumbs else ()
    return [x for group in found if len(group) > 1 for x in group if x not in chosen]


def bite(layers: Sequence[Layer], limits: Limits) -> tuple[Layer, ...]:
    """The files that one commit rewrites in passing: the one with the most changes, and more up to half of the limit.

    Empty if too many turns of changes would be left for other files: a fold never reaches below a snapshot.
    """
    most = limits.rewrite_rows or 0
    changed = sum(x.object.row_count for x in _changes(layers))
    if not any(x.object.row_count <= min(most, changed / limits.share) for x in _rows(layers)):
        return ()  # The usual case for big files, decided without comparing key ranges.
    chosen: list[Layer] = []
    for layer in thick(layers, limits):
        if sum(x.object.row_count for x in (*chosen, layer)) <= (most / 2 if chosen else most):
            chosen.append(layer)
    if not chosen:
        return ()
    chosen += joining(layers, chosen, _crumbs(layers, chosen, limits))
    return tuple(chosen) if turns_of_changes(kept_layers(layers, chosen)) <= limits.turns else ()


_MANY = 64
_MANY_SMALL = 8
_CRUMBS_SHARE = 4


def _crumbs(layers: Sequence[Layer], chosen: Sequence[Layer], limits: Limits) -> list[Layer]:
    """Small row files to rewrite along with others, since each costs reads: if they are many, or have few rows."""
    found = [x for x in small(layers, limits) if x not in chosen]
    rows = sum(x.object.row_count for x in chosen)
    room = (limits.rewrite_rows or 0) - rows
    if len(found) <= _MANY_SMALL:
        room = min(room, rows // _CRUMBS_SHARE)
    kept: list[Layer] = []
    for layer in sorted(found, key=lambda x: x.object.row_count):
        room -= layer.object.row_count
        if room < 0:
            break
        kept.append(layer)
    return kept


def outgrown(layers: Sequence[Layer], limits: Limits) -> bool:
    """Tell whether the overlay has more objects than the snapshot, so that a new snapshot should take them in."""
    overlay = sum(x.view != "snapshot" for x in layers)
    if overlay <= max(_MANY, len(layers) - overlay):
        return False
    return turns_of_changes(kept_layers(layers, ())) <= limits.turns


def turns_of_changes(layers: Iterable[Layer]) -> int:
    """How many turns of updates and deletes there are."""
    return len({x.turn for x in _changes(layers)})


@dataclass
class _Touched:
    """How many rows of a file changes may touch, and their turns."""

    rows: float = 0.0
    turns: set[int] = field(default_factory=set)


def _touched(rows: Sequence[Layer], changes: Iterable[Layer]) -> dict[int, _Touched]:
    """Estimate how many rows of each file later changes touch: a change is spread over all files that it meets."""
    found: dict[int, _Touched] = {}
    index = LayerIndex(rows)
    for change in changes:
        met = sorted(index.places_near(change.object.key_range))
        total = max(sum(rows[n].object.row_count for n in met), 1)
        for n in met:
            if change.turn > rows[n].turn:
                one = found.setdefault(n, _Touched())
                one.rows += change.object.row_count * rows[n].object.row_count / total
                one.turns.add(change.turn)
    return found


def rows_in(layers: Iterable[Layer], kind: ObjectKind) -> int:
    """How many rows the objects of one kind have."""
    return sum(x.object.row_count for x in layers if x.object.kind == kind)


def _rows(layers: Iterable[Layer]) -> list[Layer]:
    return [x for x in layers if x.object.kind == "rows"]


def _changes(layers: Iterable[Layer]) -> list[Layer]:
    return [x for x in layers if x.object.kind != "rows"]


def _place(layer: Layer) -> tuple[int, str]:
    """Identifies a layer: an object may be linked at several turns."""
    return layer.turn, layer.object.id


def superseded(
    views: Collection[ViewRecord], read: Collection[ViewId], keep: int | timedelta, now: int
) -> frozenset[ViewId]:
    """Name the views to remove. A view that was published with its commit stays, and a fold keeps its snapshot."""
    kept = [v for v in views if v.is_first or v.id in read]
    if isinstance(keep, int):
        kept += _newest(views, keep)
    else:
        kept += [v for v in views if v.created_at > now - keep // timedelta(microseconds=1)]
    below = {(v.thing_id, v.since) for v in kept if v.since}
    snapshots = sorted((v for v in views if v.kind == "snapshot"), key=_age)
    kept += {(v.thing_id, v.at): v for v in snapshots if (v.thing_id, v.at) in below}.values()
    return frozenset(v.id for v in views) - {v.id for v in kept}


def _newest(views: Iterable[ViewRecord], count: int) -> list[ViewRecord]:
    """The newest `count` views of each table on each line."""
    found: dict[tuple[ThingId, LineId], list[ViewRecord]] = {}
    for view in sorted(views, key=_age, reverse=True):
        found.setdefault((view.thing_id, view.at.line), []).append(view)
    return [v for line in found.values() for v in line[:count]]


def _age(view: ViewRecord) -> tuple[Position, int, ViewId]:
    return view.at, view.created_at, view.id
