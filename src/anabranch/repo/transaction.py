"""A transaction: many statements on many tables, seen by nobody until it is published."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from anabranch.catalog import entries
from anabranch.errors import AlreadyExists, InvalidRequest, NotFound
from anabranch.model.changes import Counts
from anabranch.model.clock import Clock
from anabranch.model.commits import BranchHead, Commit, CommitHead
from anabranch.model.ids import ROOT_NAMESPACE, ObjectId, ThingId, new_id
from anabranch.model.names import check_part, split_table_name
from anabranch.model.tables import TableState
from anabranch.plan.commit import Draft, Statement, ThingDraft, draft_state, with_statement
from anabranch.repo.context import Context
from anabranch.repo.reading import Selection, Table, make_selection
from anabranch.repo.state import find_table, table_state


@dataclass(frozen=True)
class Start:
    """Where a commit starts from and what it will say of itself."""

    branch: BranchHead
    parent: CommitHead
    clock: Clock
    message: str
    author: str
    started_at: int
    provenance: tuple[str, ...] = ()
    strict: bool = False
    allow_empty: bool = False
    creates_branch: bool = False


class Transaction:
    """An unfinished commit. It reads its own writes; it may not be shared by threads."""

    commit: Commit | None = None
    """The commit that was made; None until then, and where nothing changed."""

    def __init__(self, ctx: Context, start: Start) -> None:
        self._ctx, self._start = ctx, start
        self._draft = Draft()
        self._found: dict[ThingId, tuple[str, ThingId]] = {}
        self._closed = False

    def create_table(
        self, name: str, data: Any = None, *, key: str | Sequence[str] | None = None, schema: Any = None
    ) -> TableWriter:
        """Make a table from data, from a schema, or from data under a schema."""
        from anabranch.repo.create_table import create_table

        self._open()
        parent, own = self._place(name)
        if self._bound(parent, own):
            raise AlreadyExists(f"there is a table or namespace {name!r}", hint="choose another name, or drop it first")
        table = create_table(self._ctx, parent, name, data, key, schema)
        self._draft = self._draft.with_name(parent, own, "table", table.id)
        self._record(table)
        return TableWriter(self, table.id, Selection())

    def table(
        self,
        name: str,
        *,
        columns: Iterable[str] | str | None = None,
        where: str | None = None,
        args: Mapping[str, Any] | None = None,
        limit: int | None = None,
    ) -> TableWriter:
        """Open a table to read and write in this commit."""
        self._open()
        selection = make_selection(columns, where, args, limit)
        thing = self._find(name)
        self._draft = self._draft.with_read(thing, name)
        return TableWriter(self, thing, selection)

    def drop_table(self, name: str) -> None:
        """Drop a table; earlier commits still show it."""
        self.table(name).drop()

    def create_namespace(self, name: str) -> None:
        """Make a namespace for tables."""
        self._open()
        *above, own = name.split(".")
        parent = self._namespace(tuple(above))
        check_part(own, "namespace")
        if self._bound(parent, own):
            raise AlreadyExists(f"there is a table or namespace {name!r}", hint="choose another name")
        made = ThingDraft(ThingId(new_id("n")), "namespace", parent, name, None, operations=("create",))
        self._draft = self._draft.with_name(parent, own, "namespace", made.id)
        self._record(made)

    @property
    def counts(self) -> dict[str, Counts]:
        """What was touched so far, by table."""
        return {t.name: t.counts for t in self._draft.things.values() if t.kind == "table" and not t.dropped}

    # What the tables of this transaction ask for.

    def state_of(self, thing: ThingId) -> TableState:
        return draft_state(self._load(thing))

    def pending(self) -> dict[ObjectId, bytes]:
        """The bytes of small objects that only this transaction knows."""
        made = (o for t in self._draft.things.values() for s in t.statements for o in s.objects)
        return {o.stored.id: o.content for o in made if o.content is not None}

    def add(self, thing: ThingId, statement: Statement) -> Counts:
        """Take a statement into the draft."""
        self._open()
        if statement.objects:
            self._record(with_statement(self._load(thing), statement))
        return statement.counts

    def drop(self, thing: ThingId) -> None:
        self._open()
        table = self._load(thing)
        own = table.name.rsplit(".", 1)[-1]
        self._draft = self._draft.with_name(table.parent_id, own, "table", None)
        self._record(replace(table, dropped=True, operations=(*table.operations, "drop")))

    def _record(self, thing: ThingDraft) -> None:
        """Take a thing's new draft in; an open commit also keeps it."""
        self._draft = self._draft.with_thing(thing)

    def _open(self) -> None:
        if self._closed:
            raise InvalidRequest("this commit is finished", hint="start another with repo.commit(…)")

    def _load(self, thing: ThingId) -> ThingDraft:
        """The draft of a thing: the one at hand, or the parent's state to start from."""
        found = self._draft.things.get(thing)
        if found is None:
            name, parent = self._found[thing]
            with self._ctx.catalog.read() as cx:
                base = table_state(self._ctx, cx, self._start.clock, thing, name)
            found = ThingDraft(thing, "table", parent, name, base, base.schema, attributes=base.attributes)
            self._draft = self._draft.with_thing(found)
        if found.dropped:
            raise NotFound(f"table {found.name!r} was dropped in this commit", hint="create it again")
        return found

    def _find(self, name: str) -> ThingId:
        """Find a table by name: in the draft first, then at the parent."""
        parent, own = self._place(name)
        if (parent, own) in self._draft.names:
            kind, thing = self._draft.names[parent, own]
            if thing is None or kind != "table":
                raise NotFound(f"there is no table {name!r} in this commit", hint="it was dropped")
            return thing
        with self._ctx.catalog.read() as cx:
            thing = find_table(self._ctx, cx, self._start.clock, name, parent)
        self._found[thing] = (name, parent)
        return thing

    def _place(self, name: str) -> tuple[ThingId, str]:
        namespaces, own = split_table_name(name)
        return self._namespace(namespaces), own

    def _namespace(self, parts: tuple[str, ...]) -> ThingId:
        parent = ROOT_NAMESPACE
        for i, part in enumerate(parts):
            found = self._bound(parent, part)
            if not found or found[0] != "namespace":
                name = ".".join(parts[: i + 1])
                raise NotFound(f"there is no namespace {name!r}", hint="create the namespace first")
            parent = found[1]
        return parent

    def _bound(self, parent: ThingId, own: str) -> tuple[str, ThingId] | None:
        """What a name stands for in this commit."""
        if (parent, own) in self._draft.names:
            kind, thing = self._draft.names[parent, own]
            return (kind, thing) if thing else None
        with self._ctx.catalog.read() as cx:
            found = entries.find_name(cx, self._ctx.record.id, self._start.clock, parent, own)
        return (found.kind, found.thing_id) if found else None


class TableWriter(Table):
    """A table inside a commit: everything that a Table reads, and the statements that change it."""

    def __init__(self, transaction: Transaction, thing: ThingId, selection: Selection) -> None:
        self._transaction, self._thing = transaction, thing
        super().__init__(transaction._ctx, lambda: transaction.state_of(thing), selection)

    def _with(self, selection: Selection) -> TableWriter:
        return TableWriter(self._transaction, self._thing, selection)

    @property
    def _pending(self) -> dict[ObjectId, bytes]:
        """The bytes of small objects that only this transaction knows."""
        return self._transaction.pending()

    def insert(self, rows: Any) -> Counts:
        """Add rows whose keys are new."""
        from anabranch.repo.insert import insert

        return self._transaction.add(self._thing, insert(self._ctx, self._state, rows, self._pending))

    def upsert(self, rows: Any) -> Counts:
        """Add rows, or update those whose keys are there; partial rows keep what they don't say."""
        from anabranch.repo.upsert import upsert

        return self._transaction.add(self._thing, upsert(self._ctx, self._state, rows, self._pending))

    def update(
        self, values: Mapping[str, Any], where: str | None = None, args: Mapping[str, Any] | None = None
    ) -> Counts:
        """Set columns of the rows that `where` selects; text is an SQL expression, anything else a value."""
        from anabranch.repo.update import update

        return self._transaction.add(self._thing, update(self._ctx, self._state, values, where, args, self._pending))

    def delete(self, where: str | None = None, args: Mapping[str, Any] | None = None) -> Counts:
        """Delete the rows that `where` selects; without it, all rows."""
        from anabranch.repo.delete import delete

        return self._transaction.add(self._thing, delete(self._ctx, self._state, where, args, self._pending))

    def drop(self) -> None:
        """Drop the table; earlier commits still show it."""
        self._transaction.drop(self._thing)
