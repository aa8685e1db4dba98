"""A transaction: many statements on many tables, invisible to others until published."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anabranch.catalog import entries
from anabranch.catalog.entries import Named
from anabranch.errors import AlreadyExists, InvalidRequest, NotFound
from anabranch.model.changes import Counts
from anabranch.model.commits import Commit
from anabranch.model.files import FILES_NAME, FILES_SHOWN, files_thing
from anabranch.model.ids import ROOT_NAMESPACE, ObjectId, ThingId, new_id
from anabranch.model.names import split_namespace, split_new_namespace, split_table_name
from anabranch.model.objects import StoredObject
from anabranch.model.tables import TableState, ThingKind
from anabranch.plan import commit as plan
from anabranch.plan.properties import check_properties, with_properties, without_properties
from anabranch.repo.commit.start import Start
from anabranch.repo.context.context import Context
from anabranch.repo.context.table_state import files_state, no_table, table_state, the_one
from anabranch.repo.read.table import Selection, make_selection
from anabranch.repo.write.table_writer import TableWriter

if TYPE_CHECKING:
    from anabranch.repo.compare.table_diff import Diff
    from anabranch.repo.files.writer import FilesWriter
    from anabranch.repo.read.sql_result import SqlResult


class Transaction:
    """An unfinished commit. It reads its own writes, and must not be shared between threads."""

    commit: Commit | None = None
    """The commit that was made; None before that, and if nothing changed."""

    def __init__(self, ctx: Context, start: Start) -> None:
        self._ctx, self._start = ctx, start
        self._draft = plan.Draft()
        self._contents: dict[ObjectId, bytes] = {}
        self._closed = False
        self._files: FilesWriter | None = None
        self._when_kept: list[Callable[[Sequence[str]], None]] = []
        self._at_parent: dict[plan.NamePlace, plan.Bound] = {}
        """What names stand for at the parent; never stale, since the parent cannot change."""

    def create_table(
        self,
        name: str,
        data: Any = None,
        *,
        key: str | Sequence[str] | None = None,
        schema: Any = None,
        cluster_by: str | Sequence[str] | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> TableWriter:
        """Create a table from data, from a schema, or from data under a schema.

        Rows are stored in the order of `cluster_by`, or else of the key. Without a key, equal rows are different rows.
        """
        from anabranch.repo.write.create_table import NewTable, create_table

        self._open()
        place = self._free_place(name, split_table_name(name))
        asked = NewTable(name, place[0], data, key, schema, cluster_by, properties)
        table = create_table(self._ctx, asked)
        self._record(table)
        self._draft.bind(place, ("table", table.id), None)
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
        self._draft.reads.setdefault(thing, self._draft.things[thing].name)
        return TableWriter(self, thing, selection)

    @property
    def files(self) -> FilesWriter:
        """The versioned files, to read and write in this commit."""
        from anabranch.repo.files.tree import open_tree
        from anabranch.repo.files.writer import FilesWriter

        self._open()
        if self._files is None:
            ctx = self._ctx
            self._files = FilesWriter(ctx, self, lambda ref: open_tree(ctx, ref), at_once=self._keeps_each_statement)
        return self._files

    _keeps_each_statement = False

    def flush(self) -> None:
        """Turn files that were put but not yet written into statements."""
        if self._files is not None:
            self._files.flush()

    def files_thing(self) -> ThingId:
        """The file tree, as the draft or the parent has it."""
        thing = files_thing(self._ctx.record.id)
        if thing not in self._draft.things:
            with self._ctx.catalog.read() as cx:
                base = files_state(self._ctx, cx, self._start.clock)
            self._draft.things[thing] = _untouched(thing, "files", ROOT_NAMESPACE, FILES_NAME, base, {})
        return thing

    def packs(self) -> Mapping[ObjectId, StoredObject]:
        """The packs known only to this transaction."""
        return {o.stored.id: o.stored for t in self._draft.things.values() for o in plan.packs_of(t)}

    def drop_table(self, name: str) -> None:
        """Drop a table; earlier commits still show it."""
        self.table(name).drop()

    def create_namespace(self, name: str, properties: Mapping[str, str] | None = None) -> None:
        """Create a namespace for tables."""
        self._open()
        place = self._free_place(name, split_new_namespace(name))
        attributes = {"properties": check_properties(properties)} if properties else {}
        made = plan.ThingDraft(
            ThingId(new_id("n")), "namespace", place[0], name, None, operations=("create",), attributes=attributes
        )
        self._record(made)
        self._draft.bind(place, ("namespace", made.id), None)

    def rename_namespace(self, old: str, new: str) -> None:
        """Rename or move a namespace, along with its contents."""
        self._open()
        found = self._find_namespace(old)
        above, _ = split_new_namespace(new)
        if found.id in [n.thing_id for n in self._path(above)]:
            raise InvalidRequest(f"namespace {old!r} can't move into itself", hint="choose a place outside of it")
        self._move(found, new, split_namespace(new))

    def drop_namespace(self, name: str, *, cascade: bool = False) -> None:
        """Drop a namespace; with `cascade`, also its contents."""
        self._open()
        found = self._find_namespace(name)
        inside = self._names_below(found.id)
        if inside and not cascade:
            hint = "drop what is in it first, or use cascade=True"
            raise InvalidRequest(f"namespace {name!r} is not empty: it has {min(inside)!r}", hint=hint)
        for own, (kind, thing) in inside.items():
            full = f"{found.name}.{own}"
            if kind == "namespace":
                self.drop_namespace(full, cascade=True)
            else:
                bare = plan.ThingDraft(thing, kind, found.id, full, None, base_name=full)  # Its rows are not needed.
                self._drop(self._draft.things.get(thing, bare))
        self._drop(found)

    def set_namespace_properties(self, name: str, properties: Mapping[str, str]) -> None:
        """Set properties of a namespace; others stay."""
        self._open()
        self._record(with_properties(self._find_namespace(name), properties))

    def unset_namespace_properties(self, name: str, properties: Iterable[str]) -> None:
        """Remove properties of a namespace."""
        self._open()
        self._record(without_properties(self._find_namespace(name), properties))

    def sql(self, text: str, args: Mapping[str, Any] | None = None, **frames: Any) -> SqlResult:
        """Run SQL statements in this commit, reading its own writes; `{name}` stands for a frame given by that name."""
        self._open()
        result: SqlResult = self._ctx.run_sql(self, text, args, frames)
        return result

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Open a block whose statements count together: if it fails, the commit is as it was before."""
        self.flush()
        kept, waiting = self._draft.copy(), len(self._when_kept)
        try:
            yield
            self.flush()
        except BaseException:
            del self._when_kept[waiting:]
            if self._files is not None:
                self._files.forget()
            known = {o.stored.id for t in kept.things.values() for o in plan.all_objects_of(t)}
            made = [o for t in self._draft.things.values() for o in plan.all_objects_of(t) if o.stored.id not in known]
            self._draft = kept
            self._ctx.discard(made)
            raise

    def when_kept(self, do: Callable[[Sequence[str]], None]) -> None:
        """Call a function once what was written so far is kept, with the hash of the commit that keeps it."""
        self._when_kept.append(do)

    def _tell_kept(self, *by: str) -> None:
        while self._when_kept:
            self._when_kept.pop(0)(by)

    @property
    def counts(self) -> dict[str, Counts]:
        """The rows touched so far, by table."""
        return {t.name: t.counts for t in self._draft.things.values() if t.kind == "table" and not t.dropped}

    def status(self) -> dict[str, dict[str, Any]]:
        """What is staged, by table: the operations, and how many rows. Files count together, as `files/`."""
        self.flush()
        shown = ("operations", "counts", "dropped", "kind")
        return {
            FILES_SHOWN if t.kind == "files" else t.name: {name: getattr(t, name) for name in shown}
            for t in self._draft.things.values()
            if t.operations
        }

    def diff(self, since: str | None = None) -> Diff:
        """Compare what is staged with the commit it starts from, or with another ref."""
        from anabranch.repo.commit.draft_diff import draft_diff

        self.flush()
        return draft_diff(self._ctx, self._start.clock, self._draft, self._contents, self.all_names, since)

    def all_names(self) -> Iterator[tuple[str, ThingKind, ThingId]]:
        """Every name in this commit, with its path."""
        todo = [("", ROOT_NAMESPACE)]
        while todo:
            prefix, parent = todo.pop()
            for own, (kind, thing) in self._names_below(parent).items():
                yield prefix + own, kind, thing
                if kind == "namespace":
                    todo.append((f"{prefix}{own}.", thing))

    # What the tables of this transaction call.

    def state_of(self, thing: ThingId) -> TableState:
        return plan.draft_state(self._load(thing))

    def pending(self) -> Mapping[ObjectId, bytes]:
        """The bytes of small objects known only to this transaction."""
        return self._contents

    def wrote(self, thing: ThingId) -> bool:
        """Whether rows of a table have been written."""
        return bool(self._load(thing).statements)

    def add(self, thing: ThingId, statement: plan.Statement) -> Counts:
        """Add a statement to the draft."""
        self._open()
        if statement.objects:
            self._record(plan.with_statement(self._load(thing), statement))
        return statement.counts

    def alter(self, thing: ThingId, change: Callable[[plan.ThingDraft], plan.ThingDraft]) -> None:
        """Add a change of a table's description to the draft."""
        self._open()
        self._record(change(self._load(thing)))

    def drop(self, thing: ThingId) -> None:
        self._open()
        self._drop(self._load(thing))

    def rename(self, thing: ThingId, name: str) -> None:
        self._open()
        self._move(self._load(thing), name, split_table_name(name))

    def _drop(self, thing: plan.ThingDraft) -> None:
        place = plan.place_of(thing)
        self._record(replace(thing, dropped=True, operations=(*thing.operations, "drop")))
        self._draft.bind(place, None, (thing.kind, thing.id))

    def _move(self, thing: plan.ThingDraft, name: str, parts: tuple[tuple[str, ...], str]) -> None:
        """Rename a thing, free its old name, and move a namespace's contents along."""
        old = plan.place_of(thing)
        if name == thing.name:
            return
        place = self._free_place(name, parts, thing.id)
        operations = thing.operations if thing.operations[-1:] == ("alter name",) else (*thing.operations, "alter name")
        self._record(replace(thing, parent_id=place[0], name=name, operations=operations))
        self._draft.bind(old, None, (thing.kind, thing.id))
        self._draft.bind(place, (thing.kind, thing.id), None)
        inside = [t for t in self._draft.things.values() if t.name.startswith(f"{thing.name}.")]
        for t in inside if thing.kind == "namespace" else ():
            self._record(replace(t, name=name + t.name.removeprefix(thing.name)))

    def _record(self, thing: plan.ThingDraft) -> None:
        """Put a thing's new draft in place; an open commit also saves it."""
        self._draft.things[thing.id] = thing
        self._contents.update((o.stored.id, o.content) for o in plan.all_objects_of(thing) if o.content is not None)

    def _open(self) -> None:
        if self._closed:
            raise InvalidRequest("this commit is finished", hint="start another with repo.commit(…)")

    def _load(self, thing: ThingId) -> plan.ThingDraft:
        """The draft of a thing that was found earlier."""
        found = self._draft.things[thing]
        if found.dropped:
            raise NotFound(f"{found.kind} {found.name!r} was dropped in this commit", hint="create it again")
        return found

    def _find(self, name: str) -> ThingId:
        """Find a table by name: in the draft first, then at the parent."""
        above, asked = split_table_name(name)
        path = self._path(above)
        parent = path[-1].thing_id
        own = self._called(parent, asked)
        bound = self._bound(parent, own)
        if bound is None or bound[0] != "table":
            if (parent, own) in self._draft.names:
                raise NotFound(f"there is no table {name!r} in this commit", hint="it was dropped or renamed")
            prefix = "".join(f"{n.name}." for n in path[1:])
            raise no_table(name, prefix, {n: kind for n, (kind, _) in self._names_below(parent).items()})
        if bound[1] not in self._draft.things:
            full = ".".join([*(n.name for n in path[1:]), own])
            with self._ctx.catalog.read() as cx:
                base = table_state(self._ctx, cx, self._start.clock, bound[1], full)
            self._draft.things[bound[1]] = _untouched(bound[1], "table", parent, full, base, base.attributes)
        return bound[1]

    def _find_namespace(self, name: str) -> plan.ThingDraft:
        """Find a namespace, as the draft or the parent has it."""
        above, own = split_namespace(name)
        path = self._path((*above, own))
        thing, name = path[-1].thing_id, ".".join(n.name for n in path[1:])
        known = self._draft.things.get(thing)
        if known is None:
            with self._ctx.catalog.read() as cx:
                entry = entries.find_entry(cx, self._start.clock, thing)
            described = entry.attributes if entry else {}
            known = _untouched(thing, "namespace", path[-2].thing_id, name, None, described)
        return known

    def _free_place(
        self, name: str, parts: tuple[tuple[str, ...], str], moving: ThingId | None = None
    ) -> plan.NamePlace:
        """The place for a new name; refused if it is taken, even in another case, as in Spark."""
        parent = self._path(parts[0])[-1].thing_id
        for own in (parts[1], self._called(parent, parts[1])):
            taken = self._bound(parent, own)
            if taken and taken[1] != moving:
                message = f"there is a table or namespace {'.'.join((*parts[0], own))!r}"
                raise AlreadyExists(message, hint="choose another name, or drop it first")
        return parent, parts[1]

    def _path(self, parts: tuple[str, ...]) -> list[Named]:
        """A namespace and those above it, root first."""
        path = [Named("", "namespace", ROOT_NAMESPACE)]
        for i, part in enumerate(parts):
            own = self._called(path[-1].thing_id, part)
            found = self._bound(path[-1].thing_id, own)
            if not found or found[0] != "namespace":
                name = ".".join(parts[: i + 1])
                raise NotFound(f"there is no namespace {name!r}", hint="create the namespace first")
            path.append(Named(own, *found))
        return path

    def _called(self, parent: ThingId, name: str) -> str:
        """A name in the case it was given at creation: names are found in any case."""
        if self._bound(parent, name):
            return name
        with self._ctx.catalog.read() as cx:
            there = entries.find_similar(cx, self._ctx.record.id, self._start.clock, parent, name)
        names = {n.name for n in there} | {own for above, own in self._draft.names if above == parent}
        similar = [n for n in sorted(names) if n.lower() == name.lower() and self._bound(parent, n)]
        return the_one(similar, name) or name

    def _bound(self, parent: ThingId, own: str) -> plan.Bound:
        """What a name stands for in this commit."""
        if (parent, own) in self._draft.names:
            return self._draft.names[parent, own]
        if (parent, own) not in self._at_parent:
            with self._ctx.catalog.read() as cx:
                found = entries.find_name(cx, self._ctx.record.id, self._start.clock, parent, own)
            self._at_parent[parent, own] = (found.kind, found.thing_id) if found else None  # type: ignore[assignment]
        return self._at_parent[parent, own]

    def _names_below(self, parent: ThingId) -> dict[str, tuple[ThingKind, ThingId]]:
        """The contents of a namespace in this commit, by name."""
        with self._ctx.catalog.read() as cx:
            found = entries.list_names(cx, self._ctx.record.id, self._start.clock, parent)
        there: dict[str, plan.Bound] = {n.name: (n.kind, n.thing_id) for n in found}  # type: ignore[misc]
        there |= {name: bound for (above, name), bound in self._draft.names.items() if above == parent}
        return {name: bound for name, bound in there.items() if bound}


def _untouched(
    thing: ThingId, kind: ThingKind, parent: ThingId, name: str, base: TableState | None, known: Mapping[str, Any]
) -> plan.ThingDraft:
    """A thing as the parent has it, to start from."""
    made = plan.ThingDraft(thing, kind, parent, name, base, base.schema if base else None, attributes=known)
    return replace(made, base_name=name, base_attributes=known)
