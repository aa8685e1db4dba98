"""start: a commit that stays open across processes, until it is finished or aborted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

from anabranch.catalog import branches, entries, history, objects, open_commits
from anabranch.catalog.open_commits import OpenRecord
from anabranch.catalog.store import Connection, now
from anabranch.errors import AlreadyExists, BranchMoved, InvalidRequest
from anabranch.model.changes import Counts
from anabranch.model.commits import BranchHead, Commit
from anabranch.model.files import FILES_NAME, FILES_SHOWN
from anabranch.model.ids import BranchId, ObjectId, ThingId, new_id
from anabranch.model.names import check_ref_name
from anabranch.model.objects import NewObject
from anabranch.model.schema import Schema, read_schema, schema_document
from anabranch.model.tables import holds_rows
from anabranch.plan.commit import Draft, Statement, ThingDraft, all_objects_of, place_of
from anabranch.repo.branches.provenance import resolve_origins
from anabranch.repo.branches.refs import need_branch, resolve
from anabranch.repo.commit.start import CommitRequest, Start
from anabranch.repo.commit.transaction import Transaction
from anabranch.repo.context.arguments import check_author, check_date, check_facts, check_text
from anabranch.repo.context.context import Context
from anabranch.repo.context.table_state import table_state
from anabranch.repo.write.table_writer import TableWriter

_READS = "reads"
"""Takes the place of a thing's id in the record of tables that a strict commit has read."""


class OpenCommit(Transaction):
    """A transaction whose statements are all kept in the catalogue."""

    def __init__(self, ctx: Context, start: Start, record: OpenRecord) -> None:
        super().__init__(ctx, start)
        self._record_of, self._version = record, record.version
        self._registered: set[ObjectId] = set()
        self._unsaved: dict[ThingId, ThingDraft] | None = None
        """What the current block has recorded; saved at its end."""

    _keeps_each_statement = True

    def __repr__(self) -> str:
        return f"OpenCommit({self.id!r} on {self.branch!r}, {self.message!r})"

    @property
    def id(self) -> str:
        return self._record_of.id

    @property
    def branch(self) -> str:
        return self._record_of.branch

    @property
    def message(self) -> str:
        return self._start.message

    @property
    def author(self) -> str:
        return self._start.author

    @property
    def started_at(self) -> datetime:
        return history.to_datetime(self._start.started_at)

    @property
    def parent(self) -> str:
        """The hash of the commit it starts from."""
        return self._start.parent.hash

    @property
    def version(self) -> int:
        """How many times it was written to."""
        return self._version

    @property
    def is_working_set(self) -> bool:
        return self._record_of.working

    def finish(
        self, message: str | None = None, author: str | None = None, date: str | datetime | None = None
    ) -> Commit | None:
        """Publish; None if nothing changed. If the branch moved, the commit stays open.

        `date` is when the work was done, if not when the commit was opened.
        """
        from anabranch.repo.commit.commit import finish

        self._open()
        self.flush()
        words = self._start.message if message is None else message
        check_text(words, "the message")
        check_author(author)
        start = replace(self._start, message=words, author=author or self._start.author)
        if date is not None:
            start = replace(start, started_at=check_date(date, self._ctx.catalog.now()))
        try:
            made = finish(
                self._ctx, start, self._draft, registered=tuple(self._registered), open_commit=(self.id, self._version)
            )
        except BranchMoved as error:
            if error.facts.get("tables"):
                error.hint = "repo.carry_over(…) merges this with what came meanwhile; abort() gives it up"
            raise
        if made is None:
            self._remove()
        self._closed = True
        self.commit = made
        return made

    def abort(self) -> None:
        """Abandon the work; nothing of it stays visible."""
        self._open()
        self._remove()
        self._closed = True

    def _remove(self) -> None:
        """Remove the work: first its rows from the catalogue, then its files."""
        with self._ctx.catalog.write() as cx:
            mine = open_commits.linked(cx, self.id)
            stored = list(objects.find(cx, mine).values())
            if not open_commits.remove(cx, self.id, self._version):
                raise changed_elsewhere(self.id)
            objects.remove(cx, mine)
        self._ctx.discard([NewObject(o) for o in stored])

    def discard(self, name: str) -> None:
        """Abandon what is staged of one table or namespace; the rest stays."""
        from anabranch.repo.commit.discard import may_discard

        self._open()
        thing = may_discard(self._ctx, self._draft, self._start, FILES_NAME if name == FILES_SHOWN else name)
        mine = [o.stored for o in all_objects_of(thing) if o.stored.id in self._registered]
        ids = [o.id for o in mine]
        if self._files is not None and thing.kind == "files":
            self._files.forget()
        with self._ctx.catalog.write() as cx:
            if not open_commits.save(cx, self.id, self._version, [(thing.id, None)], []):
                raise changed_elsewhere(self.id)
            open_commits.unlink(cx, self.id, ids)
            objects.remove(cx, ids)
        self._ctx.discard([NewObject(o) for o in mine])
        self._version += 1
        with self._ctx.catalog.read() as cx:
            self.load(cx)

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Open a block whose statements are saved together at its end."""
        if self._unsaved is not None:
            with super().all_or_nothing():
                yield
            return
        self._unsaved = {}
        try:
            with super().all_or_nothing():
                yield
            held = list(self._unsaved.values())
        finally:
            self._unsaved = None
        self._keep(held)
        self._tell_kept(self.parent, self.id)

    def when_kept(self, do: Callable[[Sequence[str]], None]) -> None:
        """Call a function once what was written so far is kept: now or, in a block, at its end.

        It gets the parent's hash, which keeps what is equal there, and the id of this commit, which keeps the rest.
        """
        super().when_kept(do)
        if self._unsaved is None:
            self._tell_kept(self.parent, self.id)

    def _record(self, thing: ThingDraft) -> None:
        if self._unsaved is not None:
            self._unsaved[thing.id] = thing
            super()._record(thing)
            return
        self._keep([thing])
        super()._record(thing)

    def _keep(self, things: Sequence[ThingDraft]) -> None:
        """Save drafts of things in the catalogue."""
        made = [o for t in things for o in all_objects_of(t) if o.stored.id not in self._registered]
        if things:
            self._save([(t.id, _document(t)) for t in things], made)
        self._registered.update(o.stored.id for o in made)

    def table(self, name: str, **selection: Any) -> TableWriter:
        """Open a table; a strict commit also saves which tables were read."""
        known = len(self._draft.reads)
        found = super().table(name, **selection)
        if self._start.strict and len(self._draft.reads) != known:
            self._save([(_READS, {"reads": dict(self._draft.reads)})], [])
        return found

    def _save(self, parts: Sequence[tuple[str, dict[str, Any]]], made: list[NewObject]) -> None:
        """Save parts of the draft, unless someone else wrote in the meantime."""
        with self._ctx.catalog.write() as cx:
            if not open_commits.save(cx, self.id, self._version, parts, made):
                raise changed_elsewhere(self.id)
            self._ctx.check_there(made)
        self._version += 1

    def load(self, cx: Connection) -> OpenCommit:
        """Load what the catalogue has kept."""
        documents = open_commits.documents(cx, self.id)
        things = [self._read(cx, document) for document in documents if "reads" not in document]
        reads = {ThingId(k): v for document in documents for k, v in document.get("reads", {}).items()}
        self._draft = Draft({t.id: t for t in things}, reads=reads)
        named = [t for t in things if t.kind != "files"]
        places = {t.id: entries.place_of(cx, self._start.clock, t.id) for t in named}
        for thing in named:
            was = places[thing.id]
            if was and (thing.dropped or was != place_of(thing)):
                self._draft.bind(was, None, (thing.kind, thing.id))
        # A freed name may have been given to another thing, so bindings come last.
        for thing in (t for t in named if not t.dropped and places[t.id] != place_of(t)):
            place = place_of(thing)
            found = entries.find_name(cx, self._ctx.record.id, self._start.clock, *place)
            self._draft.bind(place, (thing.kind, thing.id), (found.kind, found.thing_id) if found else None)  # type: ignore[arg-type]
        self._registered = set(open_commits.linked(cx, self.id))
        return self

    def _read(self, cx: Connection, document: dict[str, Any]) -> ThingDraft:
        thing = ThingId(document["id"])
        created = "create" in document["operations"]
        has_rows = holds_rows(document["kind"])
        base = (
            table_state(self._ctx, cx, self._start.clock, thing, document["name"]) if has_rows and not created else None
        )
        made = {id_: read_schema(id_, described) for id_, described in document["schemas"].items()}
        schema = made.get(document["schema"]) or (base.schemas.get(document["schema"], base.schema) if base else None)
        ids = [ObjectId(o) for s in document["statements"] for o in (*s["objects"], *s.get("packs", ()))]
        found = objects.find(cx, ids)
        statements = tuple(
            Statement(
                s["operation"],
                tuple(NewObject(found[ObjectId(o)]) for o in s["objects"]),
                Counts(*s["counts"]),
                s["exact"],
                tuple(NewObject(found[ObjectId(o)]) for o in s.get("packs", ())),
            )
            for s in document["statements"]
        )
        kept = {name: document[name] for name in (*_KEPT, "attributes", "base_attributes")}
        kept |= {"parent_id": ThingId(document["parent_id"]), "operations": tuple(document["operations"])}
        return ThingDraft(thing, base=base, schema=schema, statements=statements, schemas=made, **kept)


def changed_elsewhere(id_: str) -> BranchMoved:
    """The error for an open commit that changed since it was read."""
    message = f"open commit {id_} was written to, finished or aborted elsewhere"
    return BranchMoved(message, hint="open it again, look at it, and repeat")


def start(ctx: Context, asked: CommitRequest, parent: str | None = None, *, working: bool = False) -> OpenCommit:
    """Open a commit on a branch; a branch that does not exist yet is created when the commit is finished."""
    with ctx.writing() as cx:
        sources = resolve_origins(ctx, cx, asked.provenance)
        head, creates = _target(ctx, cx, asked.branch, parent)
        who, facts = asked.author or ctx.author, check_facts(asked.facts)
        said = (asked.message, who, now(cx), sources, asked.strict, working, creates)
        record = OpenRecord(new_id("w"), head.name, head.position, *said, facts=facts)
        open_commits.insert(cx, ctx.record.id, record)
        return OpenCommit(ctx, _start(cx, record, head), record)


def list_open(ctx: Context) -> list[OpenCommit]:
    """List the open commits, each ready to continue."""
    with ctx.catalog.read() as cx:
        return [_reopen(ctx, cx, r) for r in open_commits.all_records(cx, ctx.record.id)]


def working_set(ctx: Context, branch: str) -> OpenCommit | None:
    """Find the working set of a branch, where the command line writes."""
    with ctx.catalog.read() as cx:
        found = [r for r in open_commits.all_records(cx, ctx.record.id) if r.working and r.branch == branch]
        return _reopen(ctx, cx, found[0]) if found else None


def reopen(ctx: Context, id_: str) -> OpenCommit:
    """Reopen a commit by its id, in its current state."""
    found = find_open(ctx, id_)
    if found is None:
        raise changed_elsewhere(id_)
    return found


def find_open(ctx: Context, id_: str) -> OpenCommit | None:
    """Find an open commit by its id; None if it was finished or aborted."""
    with ctx.catalog.read() as cx:
        found = next((r for r in open_commits.all_records(cx, ctx.record.id) if r.id == id_), None)
        return _reopen(ctx, cx, found) if found else None


def _target(ctx: Context, cx: Connection, branch: str | None, parent: str | None) -> tuple[BranchHead, bool]:
    """The branch that will move, and the commit to start from."""
    if branch is None:
        return _branch_to_go_on(ctx, cx, ctx.default_branch(cx) if parent is None else parent)
    existing = branches.find(cx, ctx.record.id, branch)
    if existing is None:
        if parent is None:
            need_branch(ctx, cx, branch)
        check_ref_name(branch, "branch")
        if branches.kind_named(cx, ctx.record.id, branch):
            raise AlreadyExists(f"there is a tag {branch!r}", hint="choose another name for the branch")
        return BranchHead(branch, BranchId(new_id("b")), resolve(ctx, cx, parent)), True
    position = existing.position if parent is None else resolve(ctx, cx, parent)
    if not history.clock(cx, existing.position).holds(position):
        raise InvalidRequest(f"{parent!r} is not in the history of branch {branch!r}", hint="leave parent= out")
    return BranchHead(branch, existing.id, position), False


def _branch_to_go_on(ctx: Context, cx: Connection, parent: str) -> tuple[BranchHead, bool]:
    """The branch that a ref names, else the one on which its commit was made, else a new one."""
    named = branches.find(cx, ctx.record.id, parent)
    if named is not None:
        return named, False
    position = resolve(ctx, cx, parent)
    made_on = branches.find_by_line(cx, position.line)
    if made_on is not None and history.clock(cx, made_on.position).holds(position):
        return BranchHead(made_on.name, made_on.id, position), False
    return BranchHead(new_id("unnamed-"), BranchId(new_id("b")), position), True


def _reopen(ctx: Context, cx: Connection, record: OpenRecord) -> OpenCommit:
    found = branches.find(cx, ctx.record.id, record.branch)
    id_ = found.id if found else BranchId(new_id("b"))
    head = BranchHead(record.branch, id_, record.parent)
    return OpenCommit(ctx, _start(cx, record, head), record).load(cx)


def _start(cx: Connection, record: OpenRecord, head: BranchHead) -> Start:
    names = ("message", "author", "started_at", "provenance", "strict", "creates_branch", "facts")
    said: dict[str, Any] = {name: getattr(record, name) for name in names}
    return Start(head, history.known_head(cx, record.parent), history.clock(cx, record.parent), **said)


_KEPT = ("kind", "name", "dropped", "base_name", "replaced_rows")
"""What a draft's document holds as the draft does."""


def _document(thing: ThingDraft) -> dict[str, Any]:
    """A draft as plain values, with objects by id, and with the schemas that the parent's table lacks."""
    own: dict[str, Schema] = {thing.schema.id: thing.schema} if thing.schema and not thing.base else {}
    return {
        **{name: getattr(thing, name) for name in ("id", "parent_id", *_KEPT)},
        **{name: dict(getattr(thing, name)) for name in ("attributes", "base_attributes")},
        "schema": thing.schema.id if thing.schema else None,
        "schemas": {id_: schema_document(s) for id_, s in {**thing.schemas, **own}.items()},
        "operations": list(thing.operations),
        "statements": [
            {
                "operation": s.operation,
                "objects": [o.stored.id for o in s.objects],
                "counts": [s.counts.inserted, s.counts.updated, s.counts.deleted],
                "exact": s.exact,
                "packs": [o.stored.id for o in s.packs],
            }
            for s in thing.statements
        ],
    }
