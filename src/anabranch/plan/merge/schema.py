"""Merge two schemas that came from one: columns by id, key, checks and layout."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from anabranch.model.ids import ColumnId, SchemaId, new_id
from anabranch.model.schema import Column, Schema
from anabranch.model.tables import ROW_IDS
from anabranch.plan.merge.columns import Trio, match_columns, merge_column, shown, successor
from anabranch.plan.merge.rules import Strictness
from anabranch.plan.merge.sides import Decisions, Judge, Side, ThingConflict, ThingSide, merge_named


@dataclass(frozen=True)
class SchemaMerge:
    """The schema of a table after a merge, and what else refers to columns."""

    schema: Schema
    """Ours itself where nothing changes."""
    checks: Mapping[str, str]
    cluster_by: tuple[str, ...]
    key_of: Side
    """Whose key it is; ours where both have the same."""
    key_changed: frozenset[Side] = frozenset()
    """Which sides have another key than the base."""
    rows_of: Side | None = None
    """Whose rows stay as they are, because no key matches them with the other side's."""
    old_key: tuple[ColumnId, ...] = ()
    """The key that both sides gave up, by which rows are merged if both changed some."""
    conflicts: tuple[ThingConflict, ...] = ()


def merge_schema(
    base: ThingSide | None,
    ours: ThingSide,
    theirs: ThingSide,
    strictness: Strictness = "cell",
    decisions: Decisions | None = None,
) -> SchemaMerge:
    """Replay theirs' changes since the base on ours.

    Columns are matched by id. To pick a commit, the base is its parent; to revert one, the base is the commit
    and theirs its parent. The base is None where both sides made the table.
    """
    judge = Judge((ours, theirs, base), decisions or {})
    work = _SchemaWork(base, ours, theirs, strictness, judge, match_columns(base, ours, theirs, strictness, judge))
    work.merge_columns()
    checks = work.merge_checks()
    work.settle_names()
    work.keep_some()
    checks = {name: text for name, text in checks.items() if work.has_columns_of(name, text)}
    key_of = work.choose_key()
    key = work.key_ids(key_of)
    columns = tuple(replace(c, nullable=False) if c.id in key else c for c in work.ordered())
    schema = work.schema_of(ours)
    if columns != schema.columns or key != schema.key:
        schema = Schema(SchemaId(new_id("s")), columns, key)
    return SchemaMerge(
        schema, checks, work.cluster_by(), key_of, work.key_changed(), work.rows_of, work.old_key, judge.conflicts
    )


@dataclass
class _SchemaWork:
    """A merge of schemas under way."""

    base: ThingSide | None
    ours: ThingSide
    theirs: ThingSide
    strictness: Strictness
    judge: Judge
    trios: tuple[Trio, ...]
    columns: dict[str, Column] = field(default_factory=dict)
    """The columns after the merge, by the representative of their ids."""
    rows_of: Side | None = None
    old_key: tuple[ColumnId, ...] = ()

    def __post_init__(self) -> None:
        self.of = {str(i): t.id for t in self.trios for i in t.ids}
        self.known = {t.id: t for t in self.trios}

    def merge_columns(self) -> None:
        for trio in self.trios:
            merged = merge_column(self.base, self.ours, self.theirs, trio, self.strictness, self.judge)
            if merged is not None:
                self.columns[trio.id] = merged
        # If a column stays that a side dropped and added again, the one that was added is left out.
        kept = [t.base for t in self.trios if t.id in self.columns]
        new = [successor(self.base, side, column) for column in kept for side in (self.ours, self.theirs)]
        for column in new:
            self.columns.pop(self.of[column.id] if column else "", None)

    # --- checks ---

    def merge_checks(self) -> dict[str, str]:
        """Merge checks by name; drop those whose columns are gone or renamed."""
        described = [s.texts("checks") if s else {} for s in (self.base, self.ours, self.theirs)]
        merged, both = merge_named(*described)
        for name in both if self.strictness != "operations" else ():
            values = tuple(side.get(name) for side in described)
            kind = "/".join(_check_verb(values[0], text) for text in values[1:])
            if self.judge.choose("schema", kind, values, None, [name]) == "ours":
                merged = _with(merged, name, values[1])
        return {name: text for name, text in merged.items() if self._holds(name, text)}

    def _holds(self, name: str, text: str) -> bool:
        """Tell whether a check still means what it did where it was written; ask about renamed columns."""
        whose, spoken = self._spoken(name, text)
        if any(self.of[c.id] not in self.columns for c in spoken):
            return False  # dropping the column was a conflict of its own
        return all(self._keeps_name(c, whose, name, text) for c in spoken)

    def has_columns_of(self, name: str, text: str) -> bool:
        """Tell whether the columns of a check are still there after decisions about them."""
        _, spoken = self._spoken(name, text)
        found = [(c, self.columns.get(self.of[c.id])) for c in spoken]
        return all(there is not None and there.name.lower() == c.name.lower() for c, there in found)

    def _spoken(self, name: str, text: str) -> tuple[Side, list[Column]]:
        """Which side wrote a check since the base, and about which columns; an older check can't have lost any."""
        whose: Side = "ours" if self.ours.texts("checks").get(name) == text else "theirs"
        is_old = self.base is not None and self.base.texts("checks").get(name) == text
        return whose, [] if is_old else list(spoken_columns(getattr(self, whose), name))

    def _keeps_name(self, column: Column, whose: Side, check: str, text: str) -> bool:
        found = self.columns[self.of[column.id]]
        if found.name.lower() == column.name.lower():
            return True
        kind, values = ("add check/rename column", (None, text, found.name))
        if whose == "theirs":
            kind, values = ("rename column/add check", (None, found.name, text))
        chosen = self.judge.choose("schema", kind, values, column.name, [*column.ids, check])
        if chosen == whose:
            self.columns[self.of[column.id]] = replace(found, name=column.name)
        return chosen == whose

    # --- names ---

    def settle_names(self) -> None:
        """Ask about columns that end up with the same name, and give each the chosen side's name."""
        asked: set[frozenset[str]] = set()
        while pair := self._same_name():
            mine, other = pair
            again = frozenset(pair) in asked
            asked.add(frozenset(pair))
            chosen = self._choose_name(mine, other, can_decide=not again)
            if again:
                return
            self._rename_back(other if chosen == "ours" else mine, chosen)

    def _same_name(self) -> tuple[str, str] | None:
        """Two columns with the same name: first the one named by ours, then the one named by theirs."""
        seen: dict[str, str] = {}
        for id_, column in self.columns.items():
            first = seen.setdefault(column.name.lower(), id_)
            if first != id_:
                pair = (first, id_)
                return pair if self._is_named_by_ours(first) else (id_, first)
        return None

    def _is_named_by_ours(self, id_: str) -> bool:
        ours = self.known[id_].ours
        return ours is not None and ours.name.lower() == self.columns[id_].name.lower()

    def _choose_name(self, mine: str, other: str, *, can_decide: bool) -> Side:
        x, y, name = self.known[mine], self.known[other], self.columns[mine].name
        kind = f"{_name_verb(x, x.ours)}/{_name_verb(y, y.theirs)}"
        values = (None, shown(x.ours or self.columns[mine]), shown(y.theirs or self.columns[other]))
        return self.judge.choose("schema", kind, values, name, [*x.ids, *y.ids], can_decide=can_decide)

    def _rename_back(self, id_: str, chosen: Side) -> None:
        """Give a column its name on the chosen side; remove it if it is only on the other."""
        there: Column | None = getattr(self.known[id_], chosen)
        if there is None:
            del self.columns[id_]
        else:
            self.columns[id_] = replace(self.columns[id_], name=there.name)

    def keep_some(self) -> None:
        """If the sides together dropped all columns, ask whose stay: a table needs one."""
        if self.columns:
            return
        names = ([t.name for t in self.trios if getattr(t, s)] for s in ("base", "ours", "theirs"))
        chosen = self.judge.choose("schema", "drop column/drop column", names, None, self.of)
        there = {t.id: t.ours if chosen == "ours" else t.theirs for t in self.trios}
        self.columns = {id_: column for id_, column in there.items() if column is not None}

    # --- key and order ---

    def key_changed(self) -> frozenset[Side]:
        """The sides that gave the table another key."""
        sides: tuple[Side, ...] = ("ours", "theirs")
        if self.base is None:
            return frozenset()
        old = self._row_identity(self.base)
        return frozenset(s for s in sides if self._row_identity(getattr(self, s)) != old)

    def _row_identity(self, side: ThingSide) -> tuple[str, ...]:
        """What identifies rows: the key, or hidden ids of one numbering."""
        return self._key(side) or (side.attributes.get(ROW_IDS, ""),)

    def choose_key(self) -> Side:
        """Take the key of the side that changed it; if both did, differently, ask."""
        mine, other = self._key(self.ours), self._key(self.theirs)
        changed = self.key_changed()
        chosen: Side
        if len(changed) == 1:
            (chosen,) = changed
        elif mine == other:
            chosen = "ours"
        else:
            chosen = self._ask_about_key("key/key")
        if chosen in changed and not self._key(getattr(self, chosen)):
            chosen = self._give_up_key(chosen)
        return self._side_of_whole_key(chosen)

    def _give_up_key(self, chosen: Side) -> Side:
        """Choose whose rows to keep: with new hidden ids, nothing matches them with the other side's."""
        if chosen == "theirs":
            if self.ours.rows_changed and self._ask_about_key("rows/key") == "ours":
                return self._keep_rows_of("ours")
            self.rows_of = "theirs"
        elif self.theirs.rows_changed and "theirs" in self.key_changed() and not self._key(self.theirs):
            self.rows_of = self._rows_without_key() if self.ours.rows_changed else "theirs"
        elif self.theirs.rows_changed:
            if self._ask_about_key("key/rows") == "theirs":
                return self._keep_rows_of("theirs")
            self.rows_of = "ours"
        return chosen

    def _rows_without_key(self) -> Side | None:
        """Whose rows stay if both gave up the key and changed some; None for both, if it still identifies them."""
        key = self._key(self.base) if self.base and self.strictness != "operations" else ()
        if (
            key
            and self.ours.has_unique_old_key
            and self.theirs.has_unique_old_key
            and all(i in self.columns for i in key)
        ):
            self.old_key = tuple(self.columns[i].id for i in key)
            return None
        return self._ask_about_key("key/key")

    def _keep_rows_of(self, side: Side) -> Side:
        """Keep the side that identifies rows as the base did; without a key, the other's rows are not merged in."""
        if not self._key(getattr(self, side)):
            self.rows_of = side
        return side

    def _ask_about_key(self, kind: str) -> Side:
        names = [(list(s.schema.key_names) if s and s.schema else None) for s in (self.base, self.ours, self.theirs)]
        return self.judge.choose("schema", kind, names)

    def _side_of_whole_key(self, chosen: Side) -> Side:
        """Take the other side's key if a column of the chosen one is gone."""
        key = self._key(getattr(self, chosen))
        if all(i in self.columns for i in key):
            return chosen
        return "theirs" if chosen == "ours" else "ours"

    def key_ids(self, key_of: Side) -> tuple[ColumnId, ...]:
        """The key of a side, by the columns' ids after the merge."""
        side: ThingSide = getattr(self, key_of)
        key = [i for i in self._key(side) if i in self.columns]
        for id_ in key:
            self._check_key_type(id_)
        return tuple(self.columns[i].id for i in key)

    def _check_key_type(self, id_: str) -> None:
        trio, column = self.known[id_], self.columns[id_]
        before = {c.type.name for c in (trio.ours, trio.theirs) if c is not None}
        # Key ranges can't compare days with microseconds.
        if column.type.can_be_key and not (column.type.name == "timestamp_ntz" and "date" in before):
            return
        key_of_ours = id_ in self._key(self.ours)
        kind = "key/alter type" if key_of_ours else "alter type/key"
        values = tuple(shown(c) for c in (trio.base, trio.ours, trio.theirs))
        self.judge.choose("schema", kind, values, column.name, trio.ids, can_decide=False)

    def ordered(self) -> Iterator[Column]:
        """The columns in ours' order, or in theirs' if only theirs changed it; new ones where their side has them."""
        base, ours, theirs = (_order(s, self.of) for s in (self.base, self.ours, self.theirs))
        shared = set(base) & set(ours) & set(theirs)
        moved = [[i for i in side if i in shared] != [i for i in base if i in shared] for side in (ours, theirs)]
        found = _woven(base, theirs, ours) if moved == [False, True] else _woven(base, ours, theirs)
        return (self.columns[i] for i in found if i in self.columns)

    def cluster_by(self) -> tuple[str, ...]:
        """The layout: theirs if theirs changed it, without columns that are gone."""
        old, mine, other = (self._cluster(s) for s in (self.base, self.ours, self.theirs))
        chosen = mine if other == old else other
        return tuple(str(self.columns[i].id) for i in chosen if i in self.columns)

    def _cluster(self, side: ThingSide | None) -> list[str]:
        described: Iterable[str] = side.attributes.get("cluster_by", ()) if side else ()
        return [self.of.get(i, i) for i in described]

    def _key(self, side: ThingSide) -> tuple[str, ...]:
        return tuple(self.of[i] for i in self.schema_of(side).key)

    def schema_of(self, side: ThingSide) -> Schema:
        assert side.schema is not None
        return side.schema


def spoken_columns(side: ThingSide, check: str) -> Iterator[Column]:
    """The columns that a check refers to; all, if it is not listed."""
    assert side.schema is not None
    described = side.check_columns.get(check)
    return (c for c in side.schema if described is None or c.ids & described)


def _order(side: ThingSide | None, of: Mapping[str, str]) -> list[str]:
    columns = side.schema.columns if side and side.schema else ()
    return [of[c.id] for c in columns]


def _woven(base: Sequence[str], first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Weave columns into one order: the base's as the first side has them, each followed by what was added there.

    So a column that a revert restores goes back to its place, before what was added after it. What the second side
    added after all columns of the base comes last.
    """
    last = base[-1] if base else ""
    added, more = _added_after(base, first), _added_after(base, second)
    found = [*added.get("", ()), *(more.get("", ()) if base else ())]
    for id_ in _spine(base, first):
        found += [id_, *added.get(id_, ()), *(more.get(id_, ()) if id_ != last else ())]
    return list(dict.fromkeys([*found, *more.get(last, ())]))


def _added_after(base: Sequence[str], side: Sequence[str]) -> dict[str, list[str]]:
    """The columns that a side added, by the column of the base that they follow."""
    found: dict[str, list[str]] = {}
    before = ""
    for id_ in side:
        if id_ in base:
            before = id_
        else:
            found.setdefault(before, []).append(id_)
    return found


def _spine(base: Sequence[str], side: Sequence[str]) -> list[str]:
    """The columns of the base in a side's order; a dropped one stays after the column that it followed."""
    found = [i for i in side if i in base]
    for before, id_ in zip(("", *base), base, strict=False):
        if id_ not in found:
            found.insert(found.index(before) + 1 if before else 0, id_)
    return found


def _check_verb(before: str | None, after: str | None) -> str:
    if after is None:
        return "drop check"
    return "add check" if before is None else "alter check"


def _name_verb(trio: Trio, side: Column | None) -> str:
    if trio.base is None:
        return "add column"
    return "rename column" if side is not None and side.name != trio.base.name else "keep column"


def _with(texts: dict[str, str], name: str, text: str | None) -> dict[str, str]:
    rest = {n: t for n, t in texts.items() if n != name}
    return rest if text is None else {**rest, name: text}
