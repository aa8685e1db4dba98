"""commit: start from a branch, collect statements, publish all or nothing."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

from anabranch.catalog import branches, commits, history
from anabranch.catalog.moves import HeadMoved
from anabranch.catalog.publish import publish
from anabranch.catalog.store import Connection, now, settle
from anabranch.errors import AnabranchError, BranchMoved, InvalidRequest, OutcomeUnknown, Unavailable
from anabranch.model.clock import Position
from anabranch.model.commits import BranchHead, Commit, CommitHead
from anabranch.model.content import Content, Publication
from anabranch.model.ids import CommitId, ObjectId, commit_id_of, new_id
from anabranch.model.objects import NewObject
from anabranch.plan.commit import Draft, all_objects_of, content_of
from anabranch.plan.folding import is_due
from anabranch.repo.branches.provenance import resolve_origins
from anabranch.repo.branches.refs import need_branch
from anabranch.repo.commit.start import CommitRequest, Start
from anabranch.repo.commit.transaction import Transaction
from anabranch.repo.context.arguments import check_date, check_facts
from anabranch.repo.context.context import Context
from anabranch.repo.write.manifests import with_manifests
from anabranch.settings import PUBLISH_ATTEMPTS

log = logging.getLogger("anabranch.repo.commit.commit")


def begin(ctx: Context, asked: CommitRequest) -> Start:
    """Read the head that the commit will expect."""
    with ctx.catalog.read() as cx:
        found = branches.find_head(cx, ctx.record.id, asked.branch)
        if found is None:
            need_branch(ctx, cx, asked.branch)
        assert found is not None
        head, parent = found
        clock, started = history.clock(cx, head.position), now(cx)
        started = started if asked.date is None else check_date(asked.date, started)
        sources = resolve_origins(ctx, cx, asked.provenance)
    who = asked.author or ctx.author
    flags, facts = (asked.strict, asked.allow_empty), check_facts(asked.facts)
    return Start(head, parent, clock, asked.message, who, started, sources, *flags, facts=facts)


def finish(
    ctx: Context,
    start: Start,
    draft: Draft,
    verb: str = "commit",
    registered: Sequence[ObjectId] = (),
    open_commit: tuple[str, int] | None = None,
) -> Commit | None:
    """Net each table's statements and publish; None if nothing changed."""
    from anabranch.repo.write.netting import net

    netted = replace(draft, things={k: t if t.dropped else net(ctx, t) for k, t in draft.things.items()})
    content = content_of(netted, registered)
    # Files of an open commit stay until it is aborted; what netting just wrote is discarded if publishing fails.
    own = set() if open_commit is None else set(registered)
    made = [o for d in (draft, netted) for t in d.things.values() for o in (*all_objects_of(t), *t.superseded)]
    loose = [o for o in made if o.stored.id not in own]
    if content.is_empty and not start.allow_empty:
        log.debug("nothing changed: no commit is made")
        ctx.discard(loose)
        return None
    try:
        commit = publish_draft(ctx, _publication(ctx, start, content, verb, open_commit), netted, start.strict)
    except OutcomeUnknown:
        raise
    except AnabranchError:
        ctx.discard(loose)
        raise
    published = {o.stored.id for o in content.objects} | set(content.linked)
    ctx.discard([o for o in loose if o.stored.id not in published])
    keep_draft_readable(ctx, start.branch.name, netted)
    return commit


def keep_draft_readable(ctx: Context, branch: str, draft: Draft) -> None:
    """Fold the loose changes of tables that have too many after this commit.

    Not inside a larger transaction, which must not be held up; a later commit will fold."""
    if ctx.catalog.is_alone:
        return
    limit = ctx.settings.folding.commit_limit
    changed = [t for t in draft.things.values() if t.base and t.statements and not t.dropped]
    due = {t.id: t.name for t in changed if t.base and is_due(t.base.layers, limit, pending=1)}
    if due:
        from anabranch.repo.upkeep.fold import keep_readable

        keep_readable(ctx, branch, due)


def _publication(
    ctx: Context, start: Start, content: Content, verb: str, open_commit: tuple[str, int] | None
) -> Publication:
    id_ = CommitId(new_id("k")) if open_commit is None else commit_id_of(open_commit[0])
    place, said = (ctx.record.id, start.branch, (start.parent,), id_), start.said
    return Publication(*place, **said, verb=verb, content=content, open_commit=open_commit)


def publish_draft(ctx: Context, publication: Publication, draft: Draft, strict: bool) -> Commit:
    """Publish. If the branch moved, move the commit onto the new head, unless others touched the same rows."""
    with publish_found_out(ctx, publication) as published:
        for attempt in range(PUBLISH_ATTEMPTS):
            try:
                made, id_ = _attempt(ctx, publication, published)
                break
            except HeadMoved as moved:
                if attempt == PUBLISH_ATTEMPTS - 1:
                    made, id_, publication, draft = _last_attempt(ctx, publication, draft, strict, published)
                    break
                with ctx.catalog.read() as cx:
                    publication, draft = _onto(ctx, cx, publication, draft, strict, moved.found)
        published.commit = _described(publication, draft, made, id_)
    return published.commit


@dataclass
class Published:
    """What a block publishes."""

    commit: Commit | None = None
    manifests: Sequence[NewObject] = ()
    """Those that the commit links; they are discarded if it turns out that nothing was published."""


def _attempt(ctx: Context, publication: Publication, published: Published) -> tuple[CommitHead, str]:
    with ctx.catalog.write() as cx:
        made = publish_checked(ctx, cx, publication, published)
        return made, commits.commit_id(cx, made.position)


def publish_checked(ctx: Context, cx: Connection, publication: Publication, published: Published) -> CommitHead:
    """Publish, and fail if a file of the commit was collected meanwhile."""
    content, manifests = with_manifests(ctx, publication.content)
    try:
        said = replace(publication, content=content)
        made = publish(cx, said, ctx.store_id, ctx.settings.folding.clock_depth_limit, ctx.move_listeners)
        ctx.check_there(content.objects)
    except BaseException:
        ctx.discard(manifests)
        raise
    published.manifests = manifests
    return made


def _last_attempt(
    ctx: Context, publication: Publication, draft: Draft, strict: bool, published: Published
) -> tuple[CommitHead, str, Publication, Draft]:
    """Read the head and publish in one transaction, so that a slow writer among fast ones gets through."""
    with ctx.writing() as cx:
        moved = branches.find(cx, ctx.record.id, publication.branch.name)
        publication, draft = _onto(ctx, cx, publication, draft, strict, moved)
        made = publish_checked(ctx, cx, publication, published)
        return made, commits.commit_id(cx, made.position), publication, draft


@contextmanager
def publish_found_out(ctx: Context, publication: Publication) -> Iterator[Published]:
    """Open a block that publishes, and keep its commit; if the outcome is unknown, look in the branch's moves."""
    published = Published()
    try:
        try:
            yield published
        except OutcomeUnknown as error:
            published.commit = _published(ctx, publication, find_published(ctx, publication, error))
    except OutcomeUnknown:
        raise
    except AnabranchError:
        ctx.discard(published.manifests)
        raise


def find_published(ctx: Context, publication: Publication, error: OutcomeUnknown) -> Position:
    """Find where a commit of unknown outcome was published; raise `Unavailable` if it was not."""
    where = _find_out(ctx, publication, error)
    if where is None:
        message = f"nothing was published: {error.message}"
        raise Unavailable(message, hint="check the disk or the server, then try again") from error
    return where


def _published(ctx: Context, publication: Publication, found: Position) -> Commit:
    """Read a commit known to be published; failing to read it must not look like failing to publish."""
    try:
        with ctx.catalog.read() as cx:
            return commits.describe(cx, [found])[0]
    except AnabranchError as error:
        name = publication.branch.name
        message = f"commit {publication.id} was published on {name!r}, but can't be read: {error.message}"
        hint = f"it is in repo.reflog({name!r}) when the catalogue is back"
        raise OutcomeUnknown(message, hint=hint, commit_id=publication.id, branch=name) from error


def _described(publication: Publication, draft: Draft, made: CommitHead, id_: str) -> Commit:
    """The commit as users see it, without reading it back."""
    described = {e.thing_id for e in publication.content.entries if e.kind == "table"}
    return Commit(
        made.hash,
        id_,
        publication.author,
        publication.message,
        history.to_datetime(publication.started_at),
        history.to_datetime(made.finished_at),
        tuple(p.hash for p in publication.parents),
        tuple(sorted(t.name for t in draft.things.values() if t.id in described)),
        tuple(map(str, publication.provenance)),
        publication.facts,
    )


def _find_out(ctx: Context, publication: Publication, error: OutcomeUnknown) -> Position | None:
    """Look up in the branch's moves what became of a commit. The lock waits for a publication still under way.

    The answer is only valid once our own transaction commits: until then, a crash could restore or lose the commit.
    """
    try:
        with ctx.writing() as cx:
            found = branches.published(cx, publication.id)
            settle(cx)
        return found
    except AnabranchError as second:
        name = publication.branch.name
        message = f"it is not known whether commit {publication.id} was published on {name!r}: {error.message}"
        hint = f"when the catalogue is back, look for it in repo.reflog({name!r})"
        raise OutcomeUnknown(message, hint=hint, commit_id=publication.id, branch=name) from second


def _onto(
    ctx: Context, cx: Connection, publication: Publication, draft: Draft, strict: bool, found: BranchHead | None
) -> tuple[Publication, Draft]:
    """Move a publication onto the new head, or refuse."""
    name = publication.branch.name
    if found is None:
        raise BranchMoved(f"branch {name!r} was deleted meanwhile", hint="make it again, then retry", branch=name)
    base = publication.parents[0].position
    clock = history.clock(cx, found.position)
    head = history.head(cx, found.position)
    if not clock.holds(base) or head is None:
        hint = "read the branch again and retry"
        raise BranchMoved(f"branch {name!r} was reset meanwhile", hint=hint, branch=name)
    from anabranch.repo.commit.concurrent_commits import find_concurrent_changes, on_top

    concurrent = find_concurrent_changes(ctx, cx, draft, publication, clock, strict)
    if concurrent.clash:
        tables = concurrent.names or tuple(concurrent.rows)
        message = f"branch {name!r} moved: {concurrent.description()}"
        raise BranchMoved(message, hint="read the branch again and retry", branch=name, tables=tables, found=head.hash)
    log.debug("branch %s moved to %s; the commit goes on it", name, head.hash)
    content, draft = on_top(publication.content, draft, concurrent)
    moved = replace(publication, content=content)
    return replace(moved, branch=found, parents=(head, *publication.parents[1:]), creates_branch=False), draft


class CommitBlock:
    """`with repo.commit(…) as tx`: publishes at the end, unless the block raises."""

    def __init__(self, ctx: Context, asked: CommitRequest) -> None:
        self._ctx, self._asked = ctx, asked
        self._transaction: Transaction | None = None
        self._entered = False

    def __enter__(self) -> Transaction:
        if self._entered:
            raise InvalidRequest("this commit was entered already", hint="start another with repo.commit(…)")
        self._entered = True
        if self._asked.retry:
            hint = 'give it a function: repo.commit("main", "load", retry=3)(write), which calls write(tx)'
            raise InvalidRequest("a block can't be run again, so retry= does not go with `with`", hint=hint)
        self._transaction = Transaction(self._ctx, begin(self._ctx, self._asked))
        return self._transaction

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        transaction = self._transaction
        assert transaction is not None
        if error is None:
            try:
                transaction.flush()
            except BaseException:
                self._give_up(transaction)
                raise
            transaction._closed = True
            transaction.commit = finish(self._ctx, transaction._start, transaction._draft)
            transaction._tell_kept(transaction.commit.hash if transaction.commit else transaction._start.parent.hash)
        else:
            self._give_up(transaction)

    def _give_up(self, transaction: Transaction) -> None:
        """Remove what was written. Publishing had not begun, so nothing can have been published."""
        transaction._closed = True
        if transaction._files is not None:
            transaction._files.forget()
        self._ctx.discard([o for t in transaction._draft.things.values() for o in (*all_objects_of(t), *t.superseded)])

    def __call__(self, write: Callable[[Transaction], Any]) -> Commit | None:
        """Call `write(tx)` and publish; if the branch moved, call it again on the new state, up to `retry` times."""
        self._entered = True
        asked = replace(self._asked, retry=0)
        for left in reversed(range(self._asked.retry + 1)):
            try:
                with CommitBlock(self._ctx, asked) as tx:
                    write(tx)
                return tx.commit
            except BranchMoved:
                if not left:
                    raise
                log.debug("the branch moved: %d more tries", left)
        raise AssertionError("the last try returns or raises")

    def __del__(self) -> None:
        if not getattr(self, "_entered", True):
            warnings.warn(
                "repo.commit(…) was never entered: write `with repo.commit(…) as tx:`", RuntimeWarning, stacklevel=2
            )
