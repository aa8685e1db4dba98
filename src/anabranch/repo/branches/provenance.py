"""Provenance: what commits were made from, given when a commit starts and followed in both directions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from anabranch.catalog import history, repositories
from anabranch.catalog import provenance as rows
from anabranch.catalog.store import Connection
from anabranch.errors import InvalidRequest, NotFound
from anabranch.model.clock import Position
from anabranch.model.commits import Commit, Origin
from anabranch.model.listings import Listing
from anabranch.plan.history import is_ancestor, nearest_first
from anabranch.repo.branches.refs import resolve
from anabranch.repo.context.arguments import check_text
from anabranch.repo.context.context import Context


@dataclass(frozen=True)
class ExternalSource:
    """Something outside the store that a commit was made from, such as `s3://bucket/key@etag`."""

    address: str


@dataclass(frozen=True)
class ProvenanceEntry:
    """A commit that another was made from, or that was made from it; or an external source."""

    hash: str | None
    repository: str | None
    """The name of its repository; None for an external source, or a commit that is no longer here."""
    role: str | None
    """What the reader called this input."""
    message: str | None
    author: str | None
    finished_at: datetime | None
    source: str | None
    depth: int
    """How many steps away it is, along the longest path."""
    via: tuple[str, ...]
    """The neighbouring commits nearer to the start: those that name it, or that it names."""

    def __str__(self) -> str:
        if self.hash is None:
            return self.source or ""
        return f"{self.repository}@{self.hash[:10]}" if self.repository else f"{self.hash[:10]} (not here)"


def resolve_origins(ctx: Context, cx: Connection, given: Any) -> tuple[Origin, ...]:
    """Find the commits that `provenance=` names: refs, `repository@ref`, commits, {role: …}, external sources."""
    if isinstance(given, str | ExternalSource | Commit):
        hint = 'give a list, such as ["inputs@main"], or {"orders": "shop@v1"}'
        raise InvalidRequest(f"provenance= is {given!r}, a list was expected", hint=hint)
    named: Iterable[tuple[str | None, Any]]
    named = given.items() if isinstance(given, Mapping) else _named(given)
    return tuple(_origin(ctx, cx, role, value) for role, value in named)


def _named(given: Sequence[Any]) -> Iterable[tuple[str | None, Any]]:
    for one in given:
        yield from one.items() if isinstance(one, Mapping) else [(None, one)]


def _origin(ctx: Context, cx: Connection, role: str | None, value: Any) -> Origin:
    role = None if role is None else check_text(role, "provenance=")
    match value:
        case Origin():
            return replace(value, role=role or value.role)
        case ExternalSource(address):
            return Origin(None, role, source=check_text(address, "provenance="))
        case Commit():
            text = value.hash
        case _:
            text = check_text(value, "provenance=")
    return _found(ctx, cx, role, text)


def _found(ctx: Context, cx: Connection, role: str | None, text: str) -> Origin:
    """Find a commit by its text: in a named repository, or else in this one, or else by hash in any."""
    name, sign, ref = text.partition("@")
    try:
        if sign and not ref.startswith("{") and name in repositories.names(cx):
            record = repositories.find(cx, name)
            return Origin(_hash(replace(ctx, record=record), cx, ref), role, record.id)
        return Origin(_hash(ctx, cx, text), role)
    except (NotFound, InvalidRequest) as error:
        known = rows.find_commits(cx, [text])
        if text in known:
            return Origin(text, role, repositories.find(cx, known[text].repository).id)
        hint = "name a ref, repository@ref or a hash of this store; ab.external(…) names what is outside"
        raise NotFound(f"provenance= names {text!r}: {error.message}", hint=hint) from error


def provenance(ctx: Context, ref: str | None, direct: bool = False) -> list[ProvenanceEntry]:
    """List what a commit was made from, nearest first, each once, over all repositories of the store."""
    with ctx.catalog.read() as cx:
        return _followed(cx, _hash(ctx, cx, ref), _UP, direct)


def derived(ctx: Context, ref: str | None, direct: bool = False) -> list[ProvenanceEntry]:
    """List the commits that were made from one, nearest first, each once, over all repositories of the store.

    Merges that brought in such a commit are included."""
    with ctx.catalog.read() as cx:
        return _followed(cx, _hash(ctx, cx, ref), _DOWN, direct)


def origins_by_commit(ctx: Context, commits: Sequence[Commit]) -> dict[str, list[ProvenanceEntry]]:
    """List what each commit names as its provenance, in its own order, by commit hash."""
    hashes = [c.hash for c in commits if c.provenance]
    if not hashes:
        return {}
    found: dict[str, list[ProvenanceEntry]] = {}
    with ctx.catalog.read() as cx:
        links = rows.origins_of(cx, hashes)
        known = rows.find_commits(cx, {m.origin for m in links if m.origin})
    for m in links:
        entry = _entry(m.origin, 1, known.get(m.origin), [(m.by, m.role)]) if m.origin else _outside(1, [m])
        found.setdefault(m.by, []).append(entry)
    return found


def _hash(ctx: Context, cx: Connection, ref: str | None) -> str:
    return history.known_head(cx, resolve(ctx, cx, ref)).hash


def _made_of(cx: Connection, hashes: list[str]) -> list[rows.ProvenanceLink]:
    """What commits were made from. A merge counts as made from the origins of the commits it brought in."""
    found = rows.origins_of(cx, hashes)
    for merge in rows.find_commits(cx, hashes).values():
        if merge.is_merge:
            found += [replace(m, by=merge.hash) for m in rows.origins_of(cx, _brought(cx, merge.position))]
    return list(dict.fromkeys(found))


def _brought(cx: Connection, merge: Position) -> list[str]:
    """The commits that a merge brought in."""
    first = history.clock(cx, merge).back(1)
    brought = brought_in(cx, history.further_parents(cx, merge), first) if first else []
    return [h.hash for h in (history.head(cx, p) for p in brought) if h]


def _made_into(cx: Connection, hashes: list[str]) -> list[rows.ProvenanceLink]:
    """The commits made from the given ones, and the merges that brought those in."""
    found = rows.made_from(cx, hashes)
    makers = rows.find_commits(cx, {m.by for m in found})
    merges = {hash_: _merges_that_brought(cx, commit) for hash_, commit in makers.items()}
    return list(dict.fromkeys([*found, *(replace(m, by=h) for m in found for h in merges.get(m.by, ()))]))


def _merges_that_brought(cx: Connection, commit: rows.KnownCommit) -> list[str]:
    """The merges that reach a commit through a further parent, but not through the first."""
    lines, found = history.Lines(cx), dict[str, None]()
    for hash_, merge, parent in rows.merges_above(cx, commit):
        first = history.clock(cx, merge).back(1)
        if first and is_ancestor(lines, commit.position, parent) and not is_ancestor(lines, commit.position, first):
            found[hash_] = None
    return list(found)


def brought_in(cx: Connection, ends: Sequence[Position], known: Position) -> list[Position]:
    """The commits reachable from some ends but not from a known commit."""
    lines, found, waiting = history.Lines(cx), dict[Position, None](), list(ends)
    while waiting:
        at = waiting.pop()
        if at in found or is_ancestor(lines, at, known):
            continue
        found[at] = None
        before = history.clock(cx, at).back(1)
        waiting += ([before] if before else []) + history.further_parents(cx, at)
    return list(found)


def origins_at(cx: Connection, positions: Sequence[Position]) -> tuple[Origin, ...]:
    """What the given commits were made from, each once."""
    heads = (history.head(cx, p) for p in positions)
    made = rows.origins_of(cx, [h.hash for h in heads if h])
    return tuple(dict.fromkeys(Origin(m.origin, m.role, m.repository, m.source) for m in made))


_SHOWN = ("depth", "repository", "hash", "source", "role", "message", "author", "finished_at")


@dataclass(frozen=True)
class _Direction:
    """The direction to follow provenance in: to what a commit was made from, or to what was made from it."""

    step: Callable[[Connection, list[str]], list[rows.ProvenanceLink]]
    start: Callable[[rows.ProvenanceLink], str | None]
    target: Callable[[rows.ProvenanceLink], str | None]


_UP = _Direction(_made_of, lambda m: m.by, lambda m: m.origin)
_DOWN = _Direction(_made_into, lambda m: m.origin, lambda m: m.by)


def _followed(cx: Connection, start: str, way: _Direction, direct: bool) -> list[ProvenanceEntry]:
    """Follow provenance from a commit, one step for all reached commits at a time."""
    edges: dict[str, list[rows.ProvenanceLink]] = {}
    waiting = [start]
    while waiting:
        edges.update((h, []) for h in waiting)
        for m in way.step(cx, waiting):
            edges[way.start(m) or ""].append(m)
        reached = {t for h in waiting for m in edges[h] if (t := way.target(m))}
        waiting = [] if direct else sorted(reached - edges.keys())
    return Listing(_entries(cx, start, edges, way), _SHOWN)


def _entries(
    cx: Connection, start: str, edges: Mapping[str, list[rows.ProvenanceLink]], way: _Direction
) -> list[ProvenanceEntry]:
    reached = {h: [(t, m.role) for m in made if (t := way.target(m))] for h, made in edges.items()}
    ordered = nearest_first(start, {h: list(dict.fromkeys(t for t, _ in found)) for h, found in reached.items()})
    known = rows.find_commits(cx, [h for h, _ in ordered])
    via: dict[str, list[tuple[str, str | None]]] = {}
    for hash_, found in reached.items():
        for t, role in found:
            via.setdefault(t, []).append((hash_, role))
    entries = [_entry(h, depth, known.get(h), via[h]) for h, depth in ordered]
    depths = {start: 0, **dict(ordered)}
    named: dict[str, list[rows.ProvenanceLink]] = {}
    for m in (m for made in edges.values() for m in made if m.source and m.by in depths):
        named.setdefault(m.source or "", []).append(m)
    outside = (_outside(1 + max(depths[m.by] for m in links), links) for links in named.values())
    return sorted((*entries, *outside), key=lambda e: e.depth)


def _outside(depth: int, links: Sequence[rows.ProvenanceLink]) -> ProvenanceEntry:
    """An external source, with all commits that name it."""
    role = next((m.role for m in links if m.role), None)
    via = tuple(dict.fromkeys(m.by for m in links))
    return ProvenanceEntry(None, None, role, None, None, None, links[0].source, depth, via)


def _entry(
    hash_: str, depth: int, known: rows.KnownCommit | None, via: Sequence[tuple[str, str | None]]
) -> ProvenanceEntry:
    seen = tuple(dict.fromkeys(by for by, _ in via))
    role = next((role for _, role in via if role), None)
    if known is None:
        return ProvenanceEntry(hash_, None, role, None, None, None, None, depth, seen)
    when = history.to_datetime(known.finished_at)
    return ProvenanceEntry(hash_, known.repository, role, known.message, known.author, when, None, depth, seen)


def as_mermaid(entries: Sequence[ProvenanceEntry], start: str, *, down: bool = False) -> str:
    """Draw provenance as a flowchart, with arrows from what was read to what was made from it."""
    names = {start: "n0"}
    lines = ["flowchart LR", f'  n0["{start[:10]}"]']
    for entry in entries:
        key = entry.hash or entry.source or ""
        names.setdefault(key, f"n{len(names)}")
        safe = "".join(c if c.isalnum() or c in " _-.:@/()" else f"#{ord(c)};" for c in str(entry))
        lines.append(f'  {names[key]}["{safe}"]')
    for entry in entries:
        key = names[entry.hash or entry.source or ""]
        for other in entry.via:
            one, two = (names[other], key) if down else (key, names[other])
            lines.append(f"  {one} --> {two}")
    return "\n".join(lines)
