"""Discarding one table or namespace from an unfinished commit, if nothing else in it depends on that."""

from __future__ import annotations

from anabranch.catalog import entries
from anabranch.errors import InvalidRequest, NotFound
from anabranch.plan.commit import Draft, ThingDraft
from anabranch.repo.commit.start import Start
from anabranch.repo.context.context import Context

_HINT = "give it up together with the rest (`ana restore .`)"


def may_discard(ctx: Context, draft: Draft, start: Start, name: str) -> ThingDraft:
    """Find what is staged under a name, old or new, provided the rest of the draft can do without it."""
    staged = [t for t in draft.things.values() if t.operations]
    thing = next((t for t in staged if t.name == name and not t.dropped), None)
    thing = thing or next((t for t in staged if name in (t.name, t.base_name)), None)
    if thing is None:
        there = ", ".join(sorted(t.name for t in staged)) or "nothing"
        raise NotFound(f"nothing is staged of {name!r}", hint=f"staged: {there}", table=name)
    inside = [t.name for t in staged if t.parent_id == thing.id and not t.dropped]
    if thing.created and inside:
        raise InvalidRequest(f"{name!r} is needed by {min(inside)!r}, which is staged in it", hint=_HINT)
    if not thing.created:
        _check_place(ctx, draft, start, thing)
    return thing


def _check_place(ctx: Context, draft: Draft, start: Start, thing: ThingDraft) -> None:
    """Check that a thing can have its old name back: its namespace exists, and nothing else took the name."""
    with ctx.catalog.read() as cx:
        place = entries.place_of(cx, start.clock, thing.id)
    if place is None:
        return
    above, taken = draft.things.get(place[0]), draft.names.get(place)
    if above is not None and above.dropped:
        raise InvalidRequest(f"{above.name!r}, which {thing.name!r} was in, is dropped, too", hint=_HINT)
    if taken is not None and taken[1] != thing.id:
        raise InvalidRequest(f"the name that {thing.name!r} had before is taken by another now", hint=_HINT)
