"""objects: list what a state is stored in and where; download or evict local copies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from anabranch.catalog import history
from anabranch.catalog import objects as object_rows
from anabranch.catalog.store import Connection
from anabranch.errors import InvalidRequest, NotFound
from anabranch.model.clock import Clock
from anabranch.model.files import FILES_SHOWN
from anabranch.model.listings import Listing
from anabranch.model.objects import FileAddress, StoredObject
from anabranch.repo.branches.refs import resolve
from anabranch.repo.context.context import Context
from anabranch.repo.context.table_state import files_state, find_table, list_tables, table_state

_SHOWN = ("id", "name", "kind", "row_count", "size_bytes", "here", "where")


@dataclass(frozen=True)
class ObjectPlace:
    """One object of a state, and where it is stored."""

    id: str
    name: str
    """The table it belongs to, or `files/`, which no table is called, for versioned files."""
    kind: str
    row_count: int
    size_bytes: int
    sha256: str
    where: str
    """The address in the object root or at another location, or `catalogue`."""
    here: bool
    """Whether it is on this machine: in the cache, in a folder, or in the catalogue."""


@dataclass(frozen=True)
class MovedCopies:
    """What was fetched or removed."""

    count: int
    size_bytes: int


class ObjectList(Listing[ObjectPlace]):
    """The objects that a state is read from."""

    def __init__(self, ctx: Context, found: Sequence[tuple[str, StoredObject]]) -> None:
        self._ctx, self._found = ctx, found
        here = ctx.root.here([o.path for _, o in found if o.path])
        super().__init__((_place(ctx, name, o, here) for name, o in found), _SHOWN)

    def find(self, start: str) -> ObjectPlace:
        """Find an object by its id or a prefix of it."""
        found = {p.id: p for p in self if p.id.startswith(start)}
        if not found:
            raise NotFound(f"this state is read from no object {start!r}", hint="`ana objects ls` lists them")
        if len(found) > 1:
            raise InvalidRequest(f"{len(found)} objects begin with {start!r}", hint="write more of the id")
        return next(iter(found.values()))

    def download(self) -> MovedCopies:
        """Fetch and verify what is not on this machine, so that it can be read offline."""
        root = self._ctx.root
        missing = [FileAddress.of(root.uri(o.path or ""), o) for o in self._files() if not root.here([o.path or ""])]
        with root.at_hand(missing):
            return MovedCopies(len(missing), sum(a.size_bytes for a in missing))

    def evict(self) -> MovedCopies:
        """Remove local copies that nobody is reading; they are fetched again when needed."""
        sizes = self._ctx.root.evict([o.path for o in self._files() if o.path])
        return MovedCopies(len(sizes), sum(sizes))

    def _files(self) -> Iterator[StoredObject]:
        return (o for o in {o.id: o for _, o in self._found}.values() if o.path)


def list_objects(ctx: Context, at: str | None, table: str | None) -> ObjectList:
    """List the objects of a commit's tables and files, or of one table."""
    with ctx.catalog.read() as cx:
        clock = history.clock(cx, resolve(ctx, cx, at))
        names = [table] if table is not None else [entry.name for entry in list_tables(ctx, cx, clock, None)]
        found = [(name, o) for name in names for o in _of_table(ctx, cx, clock, name)]
        if table is None:
            layers = [layer.object for layer in files_state(ctx, cx, clock).layers]
            found += [(FILES_SHOWN, o) for o in (*layers, *_packs(cx, layers))]
    return ObjectList(ctx, found)


def _of_table(ctx: Context, cx: Connection, at: Clock, name: str) -> Iterable[StoredObject]:
    return (layer.object for layer in table_state(ctx, cx, at, *find_table(ctx, cx, at, name)).layers)


def _packs(cx: Connection, objects: Sequence[StoredObject]) -> Iterable[StoredObject]:
    """The packs that objects refer to, directly or through other packs."""
    found: dict[str, StoredObject] = {}
    wanted = [o.id for o in objects]
    while wanted:
        linked = {pack for packs in object_rows.packs_of(cx, wanted).values() for pack in packs} - found.keys()
        new = object_rows.find(cx, sorted(linked))
        found |= {str(id_): o for id_, o in new.items()}
        wanted = list(new)
    return found.values()


def _place(ctx: Context, name: str, o: StoredObject, here: set[str]) -> ObjectPlace:
    if o.place == "elsewhere":
        found = ctx.files.locate(o)
        where, is_here = found.root.uri(found.path), bool(found.root.here([found.path]))
    else:
        where, is_here = ctx.root.uri(o.path) if o.path else "catalogue", not o.path or o.path in here
    return ObjectPlace(o.id, name, o.kind, o.row_count, o.size_bytes, o.sha256, where, is_here)
