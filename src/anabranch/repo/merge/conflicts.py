"""Conflicts as data: what ours and theirs disagree on, by table, row and cell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from anabranch.errors import NotFound
from anabranch.frames.relation import Relation
from anabranch.model.files import FILES_NAME
from anabranch.model.ids import ThingId
from anabranch.model.paths import join_path
from anabranch.plan.merge.files import FILE_FOLDER, MOVED
from anabranch.plan.merge.sides import ThingConflict

if TYPE_CHECKING:
    import pyarrow as pa

    from anabranch.model.schema import Column, Schema
    from anabranch.model.types import DataType
    from anabranch.queries.three_way import Decision
    from anabranch.repo.context.context import Context

    Decided = tuple[pa.Table, Decision]

_WORDS, _SIDES = ("kind", "column"), ("base", "ours", "theirs")


@dataclass(frozen=True)
class TableConflicts(Relation):
    """The rows of one table that are in conflict."""

    table: str
    id: ThingId
    decided: pa.Table
    """The three versions of the row at each key, and what is in conflict."""
    decision: Decision
    ctx: Context | None = field(default=None, repr=False)
    may_break: bool = False
    """Whether resolving them may break a constraint of the table."""
    decide: Callable[[pa.Table], Decided] | None = field(default=None, repr=False)
    """Reads the whole rows at given keys and decides them; None if `decided` holds whole rows already."""

    def __repr__(self) -> str:
        return f"TableConflicts({self.table!r}, {self.count()})"

    def rows(
        self,
        *,
        key: Any = None,
        where: str | None = None,
        args: Mapping[str, Any] | None = None,
        limit: int | None = None,
    ) -> list[dict[str, Any]]:
        """List the conflicts: one per cell, or one per row that a side deleted.

        A condition is tested on the row as ours has it, else theirs, else the base, as in `resolve`.
        """
        from anabranch.frames.output import to_dicts

        merged = [str(c.id) for c in self.decision.cells]  # not shown
        chosen = self._chosen(key, where, args).drop_columns(merged)
        return list(islice(self._described(to_dicts(chosen)), limit))

    def _chosen(self, key: Any, where: str | None, args: Mapping[str, Any] | None) -> pa.Table:
        if key is None and where is None:
            return self.decided
        from anabranch.repo.merge.chosen_conflicts import chosen_rows

        assert self.ctx is not None
        return chosen_rows(self.ctx, self if where is None else self.whole(), key, where, args)

    def whole(self) -> TableConflicts:
        """The same conflicts with every value of the three rows at each key."""
        if self.decide is None:
            return self
        decided, decision = self.decide(self.decided.select([str(k) for k in self.decision.schema.key_ids]))
        return replace(self, decided=decided, decision=decision, decide=None)

    def count(self) -> int:
        """Count the conflicts."""
        import pyarrow.compute as pc

        from anabranch.queries.three_way import KIND, conflict_of

        whole = self.decided.num_rows - self.decided.column(KIND).null_count
        parts = [pc.sum(self.decided.column(conflict_of(c))).as_py() or 0 for c in self.decision.cells]
        return int(whole + sum(parts))

    def arrow(self, **chosen: Any) -> pa.Table:
        """The conflicts as a table: the key, `kind`, `column`, and the three values as text.

        A key column with one of these names gets ` (key)` appended.
        """
        import pyarrow as pa

        from anabranch.arrow.types import arrow_type

        names = (*_WORDS, *_SIDES)
        found = [
            {_apart(k): v for k, v in row["key"].items()} | {name: _text(row[name]) for name in names}
            for row in self.rows(**chosen)
        ]
        fields = [(name, arrow_type(type_)) for name, type_ in self.key_columns]
        return pa.Table.from_pylist(found, pa.schema([*fields, *((name, pa.string()) for name in names)]))

    @property
    def key_columns(self) -> tuple[tuple[str, DataType], ...]:
        """The names and types of the key in `arrow`."""
        return conflict_keys(self.decision.schema)

    def spark(self, **chosen: Any) -> Any:
        """The conflicts as a Spark DataFrame, in the form of `arrow`."""
        from anabranch.queries.query import Rows, reading_of

        assert self.ctx is not None
        rows = self.arrow(**chosen)
        return self.ctx.engines.spark().frame(reading_of(Rows(rows), rows.column_names))

    def after(self, settled: pa.Table) -> TableConflicts:
        """What is left once rows are settled, fully or in part."""
        import pyarrow as pa

        from anabranch.queries.decided_rows import conflicts_among
        from anabranch.repo.merge.chosen_conflicts import others_than

        others = others_than(settled, self.decided, [str(k) for k in self.decision.schema.key_ids])
        part = conflicts_among(settled, self.decision).select(others.column_names).cast(others.schema)
        return replace(self, decided=pa.concat_tables([others, part]))

    def _repr_html_(self) -> str:
        from anabranch.frames.notebook import conflicts_html

        return conflicts_html({self.table: self.rows()})

    def _described(self, rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        from anabranch.queries.three_way import BASE, KIND, OURS, THEIRS, conflict_of, there, value_of

        keys, names = (
            [(k.name, k.id) for k in _keys_of(self.decision.schema)],
            {"base": BASE, "ours": OURS, "theirs": THEIRS},
        )
        cells = [
            (c.name, conflict_of(c), [(name, value_of(c, side)) for name, side in names.items()])
            for c in self.decision.cells
        ]
        for row in rows:
            key = {name: row[id_] for name, id_ in keys}
            if row[KIND] is not None:
                sides = {name: self._row(row, side) if row[there(side)] else None for name, side in names.items()}
                yield {"key": key, "kind": row[KIND], "column": None, **sides}
            word = "update/update" if row[there(BASE)] else "insert/insert"
            for column, conflict, values in cells:
                if row[conflict]:
                    yield {"key": key, "kind": word, "column": column, **{name: row[v] for name, v in values}}

    def _row(self, row: dict[str, Any], side: str) -> dict[str, Any]:
        from anabranch.queries.three_way import value_of

        keys = {c.id: row[c.id] for c in self.decision.schema.key_columns}
        return {c.name: keys[c.id] if c.id in keys else row[value_of(c, side)] for c in self.decision.schema}


def conflict_keys(schema: Schema) -> tuple[tuple[str, DataType], ...]:
    """The names and types of a table's key where its conflicts are shown as rows."""
    return tuple((_apart(c.name), c.type) for c in _keys_of(schema))


def _keys_of(schema: Schema) -> Sequence[Column]:
    return schema.key_columns if schema.has_key else ()


def _apart(key: str) -> str:
    """Rename a key column that clashes with a column every conflict has; Spark ignores case in names."""
    return f"{key} (key)" if key.lower() in (*_WORDS, *_SIDES) else key


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, dict):
        return ", ".join(f"{k}={_text(v)}" for k, v in value.items())
    return str(value)


@dataclass(frozen=True)
class Violation:
    """A row of the merged table that breaks one of its constraints."""

    table: str
    kind: str
    """`check`, `not null` or `key`."""
    name: str
    """The name of the check, or the column names."""
    key: Mapping[str, Any]
    row: Mapping[str, Any]
    at: tuple[Any, ...] = ()
    """The key's values, hidden or not, to find the row by."""


@dataclass(frozen=True)
class FileConflicts:
    """The files in conflict, by path."""

    found: TableConflicts | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return self.found.decided.num_rows if self.found else 0

    def __repr__(self) -> str:
        return f"FileConflicts({len(self)})"

    def rows(self, *, limit: int | None = None) -> list[dict[str, Any]]:
        """List the conflicts: the path, what each side did, and the file as each side has it."""
        from anabranch.repo.files.tree import stat_of
        from anabranch.repo.files.tree_rows import row_of

        found = []
        for row in self.found.rows(limit=limit) if self.found else ():
            kind, _, more = row["kind"].partition(" ")
            moved = more.removeprefix(MOVED) if more.startswith(MOVED) else None
            sides = {side: row[side] and vars(stat_of(row_of(row[side]))) for side in _SIDES}
            described = {"kind": kind, "column": None if moved else more or None, "moved_to": moved}
            found.append({"path": join_path(**row["key"]), **described, **sides})
        return found


@dataclass(frozen=True)
class Conflicts(Mapping[str, TableConflicts]):
    """Everything that keeps a merge from being published; `conflicts["orders"]` holds one table's rows."""

    tables: Mapping[str, TableConflicts] = field(default_factory=dict)
    things: tuple[ThingConflict, ...] = ()
    broken: tuple[Violation, ...] = ()
    breaking: Mapping[str, TableConflicts] = field(default_factory=dict)
    """By table, the three rows at each key that breaks a constraint, so that they can be resolved, too."""
    file_rows: TableConflicts | None = field(default=None, repr=False)
    """The rows of the file tree in conflict; `files` shows them to users."""

    @property
    def files(self) -> FileConflicts:
        """The files in conflict."""
        return FileConflicts(self.file_rows)

    def __repr__(self) -> str:
        return f"Conflicts({self.summary() or 'none'})"

    def __getitem__(self, name: str) -> TableConflicts:
        if name not in self.tables:
            there = ", ".join(self.tables) or "none"
            raise NotFound(f"no rows of table {name!r} are in conflict", hint=f"tables with some: {there}", table=name)
        return self.tables[name]

    def decided(self, name: str) -> list[TableConflicts]:
        """The rows of a table that can be resolved: those in conflict, then those that break a constraint."""
        found = (self.file_rows,) if name == FILES_NAME else (self.tables.get(name), self.breaking.get(name))
        return [t for t in found if t is not None]

    def with_whole(self, name: str) -> Conflicts:
        """The same conflicts with all columns of one table's rows, so that they can be resolved."""
        known = self.tables.get(name)
        return self if known is None else replace(self, tables={**self.tables, name: known.whole()})

    def __iter__(self) -> Iterator[str]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.tables)

    def __bool__(self) -> bool:
        return bool(self.tables or self.things or self.broken or self.file_rows)

    def __contains__(self, name: object) -> bool:
        return name in self.tables

    def has_file(self, path: str) -> bool:
        """Whether a file is in conflict, or clashes with a folder."""
        return path in (*(c["table"] for c in self.clashes), *(row["path"] for row in self.files.rows()))

    def after(self, settled: Mapping[ThingId, pa.Table]) -> Conflicts | None:
        """What is left once rows are settled; None if only the merge can tell: constraints may break, files clash."""
        touched = [t for t in self.tables.values() if t.id in settled]
        files = self._files_after(settled)
        # Files that were settled may be folders of the other side now, or none any more.
        may_clash = files is not self.file_rows and (files is None or bool(self.clashes))
        if self.broken or any(t.may_break for t in touched) or may_clash:
            return None
        tables = {n: t.after(settled[t.id]) if t.id in settled else t for n, t in self.tables.items()}
        left = {name: t for name, t in tables.items() if t.decided.num_rows}
        return replace(self, tables=left, file_rows=files)

    def _files_after(self, settled: Mapping[ThingId, pa.Table]) -> TableConflicts | None:
        files = self.file_rows
        if files is None or files.id not in settled:
            return files
        left = files.after(settled[files.id])
        return left if left.decided.num_rows else None

    @property
    def objects(self) -> list[dict[str, Any]]:
        """Conflicts of whole tables and namespaces, and of files that are folders on the other side."""
        return [_thing(c) for c in self.things if c.level == "objects"]

    @property
    def clashes(self) -> list[dict[str, Any]]:
        """Those of `objects` where a file of one side is a folder on the other."""
        return [_thing(c) for c in self.things if c.kind == FILE_FOLDER]

    @property
    def schema(self) -> list[dict[str, Any]]:
        """Conflicts of columns, keys and checks."""
        return [_thing(c) for c in self.things if c.level == "schema"]

    @property
    def violations(self) -> list[dict[str, Any]]:
        """Merged rows that break a constraint."""
        return [
            {"table": v.table, "kind": v.kind, "name": v.name, "key": dict(v.key), "row": dict(v.row)}
            for v in self.broken
        ]

    @property
    def is_stuck(self) -> bool:
        """Whether neither rules nor `resolve` can settle something: a broken key, or a thing with no side to take."""
        return any(v.kind == "key" for v in self.broken) or any(not c.can_decide for c in self.things)

    def count(self) -> int:
        """Count all conflicts."""
        return sum(t.count() for t in self.tables.values()) + len(self.things) + len(self.broken) + len(self.files)

    def _repr_html_(self) -> str:
        from anabranch.frames.notebook import conflicts_html

        rows = {t.table: t.rows() for t in self.values()}
        return conflicts_html(rows, [*self.objects, *self.schema], self.violations)

    def headline(self) -> str:
        """Say in one line how many conflicts there are, and where."""
        total = self.count()
        return f"{total} conflict{'' if total == 1 else 's'} in {self.summary()}"

    def summary(self) -> str:
        """Say in one line where the conflicts are."""
        parts = [f"{name} ({t.count()})" for name, t in self.tables.items()]
        parts += [f"file {row['path']} ({row['kind']})" for row in self.files.rows(limit=10)]
        parts += [f"{_place(c)} ({c.kind})" for c in self.things]
        parts += [f"{v.table} ({v.kind} {v.name})" for v in self.broken]
        shown = ", ".join(dict.fromkeys(parts[:10]))
        return shown + (", …" if len(parts) > 10 else "")


def _place(c: ThingConflict) -> str:
    if c.kind == FILE_FOLDER:
        return f"file {c.table}"
    return f"{c.table}.{c.column}" if c.column else c.table


def _thing(c: ThingConflict) -> dict[str, Any]:
    return {name: getattr(c, name) for name in ("table", "kind", "column", *_SIDES, "id")}
