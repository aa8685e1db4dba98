"""What every verb works with: the catalogue, the objects, the engines and the repository's record."""

from __future__ import annotations

import getpass
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from anabranch.catalog import format_version, moves, repositories
from anabranch.catalog import manifests as manifest_rows
from anabranch.catalog import objects as object_rows
from anabranch.catalog.moves import Move, MoveListener
from anabranch.catalog.repositories import RepositoryRecord
from anabranch.catalog.store import Catalog, lock_repository
from anabranch.catalog.views import ObjectCache
from anabranch.engines.choice import Engines
from anabranch.errors import AnabranchError, Corrupt, InvalidRequest, Unavailable
from anabranch.model.clock import Position
from anabranch.model.commits import BranchHead
from anabranch.model.ids import ObjectId
from anabranch.model.layers import Layers, as_layers
from anabranch.model.objects import Layer, NewObject, StoredObject
from anabranch.model.schema import Schema
from anabranch.model.types import DataType
from anabranch.objects.locations import open_root
from anabranch.objects.root import ObjectRoot
from anabranch.objects.soundness import Soundness
from anabranch.repo.context.object_files import ObjectFiles
from anabranch.repo.context.root_owner import RootOwner
from anabranch.repo.context.spark_copies import SparkCopies
from anabranch.repo.context.trusted import check_objects_trusted
from anabranch.settings import Settings

if TYPE_CHECKING:
    import pyarrow as pa

    from anabranch.catalog.store import Connection
    from anabranch.queries.query import Source
    from anabranch.queries.scan import Access


class RowCache:
    """A cache of rows that never change, and so are never stale: decoded small objects, folded overlays."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit, self._size = limit_bytes, 0
        self._rows: OrderedDict[Hashable, pa.Table] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, id_: Hashable) -> pa.Table | None:
        with self._lock:
            if id_ in self._rows:
                self._rows.move_to_end(id_)
            return self._rows.get(id_)

    def put(self, id_: Hashable, rows: pa.Table) -> None:
        with self._lock:
            if id_ not in self._rows:
                self._rows[id_] = rows
                self._size += rows.nbytes
            while self._size > self._limit and len(self._rows) > 1:
                self._size -= self._rows.popitem(last=False)[1].nbytes


class SmallRows(Mapping[ObjectId, "pa.Table"]):
    """The rows of the small objects among layers, by id; all are read when the first is asked for."""

    def __init__(self, layers: Layers, read: Callable[[Sequence[StoredObject]], Mapping[ObjectId, pa.Table]]) -> None:
        self._layers, self._read = layers, read
        self._rows: Mapping[ObjectId, pa.Table] | None = None
        self._lock = threading.Lock()

    def __getitem__(self, id_: ObjectId) -> pa.Table:
        if id_ not in self:
            raise KeyError(id_)
        with self._lock:
            if self._rows is None:
                self._rows = self._read(self._layers.inline)
        return self._rows[id_]

    def __contains__(self, id_: object) -> bool:
        found = self._layers.find(id_)  # type: ignore[arg-type]
        return found is not None and found.place == "inline"

    def __iter__(self) -> Iterator[ObjectId]:
        return (o.id for o in self._layers.inline)

    def __len__(self) -> int:
        return len(self._layers.inline)


@dataclass(frozen=True)
class Context:
    """The parts of an open repository."""

    catalog: Catalog
    root: ObjectRoot
    sound: Soundness
    record: RepositoryRecord
    store_id: str
    engines: Engines
    settings: Settings
    cache: RowCache
    spark_copies: SparkCopies
    author: str
    owner: RootOwner
    """This catalogue as the owner of the object root."""
    run_sql: Callable[..., Any]
    """Runs SQL inside an unfinished commit: (transaction, text, args, frames). Injected, as SQL is a room above."""
    move_listeners: list[MoveListener] = field(default_factory=list)
    """Called in the same transaction whenever a branch moves."""
    known_objects: ObjectCache = field(default_factory=ObjectCache)
    known_schemas: dict[str, Schema] = field(default_factory=dict)

    @cached_property
    def files(self) -> ObjectFiles:
        """The files of objects, wherever they are."""
        return ObjectFiles(self.catalog, self.root, self._open_elsewhere)

    def _open_elsewhere(self, url: str) -> ObjectRoot:
        if self.catalog.is_in_folder:
            check_objects_trusted(url, self.settings.objects.trusted_servers)
        root = open_root(url, self.store_id, self.settings)
        self.sound.include(root)
        return root

    def __post_init__(self) -> None:
        self.known_objects.read_manifest = self.read_manifest

    def read_manifest(self, o: StoredObject) -> tuple[StoredObject, ...]:
        """Read the objects that a manifest lists, after comparing it with what was written."""
        from anabranch.objects.manifests import decode_manifest

        with self.files.locate(o).open() as file:
            content = file.read()
        with self.catalog.read() as cx:
            moved = manifest_rows.lying_elsewhere(cx, o.id)
        listed = decode_manifest(content, o)  # Some of them may have been moved since the manifest was written.
        return tuple(replace(x, place="elsewhere", path=None) if x.id in moved else x for x in listed)

    def is_collected(self, path: str) -> bool:
        """Whether nothing names a file of the root, or not any more; asked where one is missing."""
        if getattr(_asked, "is_asking", False):
            return False  # a manifest is missing, too
        _asked.is_asking = True
        try:
            with self.catalog.apart() as cx:
                return path not in object_rows.NamedFiles(self.read_manifest).paths(cx)
        except AnabranchError:
            return False
        finally:
            _asked.is_asking = False

    def default_branch(self, cx: Connection) -> str:
        """The branch used when none is named; it stays so when renamed."""
        return repositories.default_branch(cx, self.record.id)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction that writes, in which nobody else moves a branch of this repository."""
        with self.catalog.write() as cx:
            lock_repository(cx, self.record.id)
            yield cx

    def move(
        self,
        cx: Connection,
        branch: BranchHead,
        after: Position | None,
        verb: str,
        author: str | None = None,
        renamed_to: str | None = None,
    ) -> None:
        """Move a branch, or delete it if `after` is None; listeners are called in the same transaction."""
        who = author or self.author
        move = Move(self.record.id, branch, branch.position, after, who, verb, renamed_to=renamed_to)
        moves.apply(cx, move, self.move_listeners)

    @contextmanager
    def joined(self, cx: Connection) -> Iterator[None]:
        """Open a block whose commits and moves are part of a transaction that the caller holds, and ends.

        No other connection is opened. A later commit folds the tables; if the caller rolls back, gc removes the files.
        """
        with self.catalog.joined(cx):
            if not format_version.exists(cx) or self.catalog.facts().get("store_id") != self.store_id:
                message = f"the connection leads to another database than the catalogue of {self.record.name!r}"
                raise InvalidRequest(message, hint="connect to the database that holds the catalogue")
            yield

    def make_branch(self, cx: Connection, name: str, at: Position, created_at: int | None = None) -> None:
        """Create a branch that shows a commit."""
        moves.apply(cx, moves.new_branch(self.record.id, name, at, self.author, created_at), self.move_listeners)

    def access(self, layers: Sequence[Layer], pending: Mapping[ObjectId, bytes] | None = None) -> Access:
        """Make the bytes of objects accessible: files by address, small ones decoded."""
        from anabranch.queries.scan import Access

        known = as_layers(layers)
        decoded = SmallRows(known, lambda inline: self.small_rows(inline, pending or {}))
        return Access(self.files.addresses(known), decoded)

    def source_of(
        self, o: StoredObject, columns: tuple[tuple[str, DataType], ...], pending: Mapping[ObjectId, bytes]
    ) -> Source:
        """One object as a source of a query."""
        from anabranch.queries.query import Files, Rows

        access = self.access([Layer(0, o)], pending)
        if o.id in access.tables:
            return Rows(access.tables[o.id])
        return Files((access.uris[o.id],), columns)

    def remembered(self, make: Callable[[], pa.Table], key: Hashable) -> pa.Table:
        """Return rows that never change, computing them on first use."""
        found = self.cache.get(key)
        if found is None:
            found = make()
            self.cache.put(key, found)
        return found

    def discard(self, made: Sequence[NewObject]) -> None:
        """Remove files of objects that will never be linked."""
        for o in made:
            if o.stored.path:
                self.root.discard(o.stored.path)

    def check_there(self, made: Iterable[NewObject]) -> None:
        """Check that the files of new objects still exist: gc may have collected them before they were named.

        Once their rows are inserted, they cannot be collected any more.
        """
        for o in made:
            if o.stored.path:
                try:
                    self.root.check(o.stored.path, o.stored.size_bytes, None)
                except (Corrupt, Unavailable) as error:
                    hint = "do it again, and let gc run with a longer grace"
                    raise Unavailable(f"nothing was published: {error.message}", hint=hint) from error

    def diagnose(self, layers: Sequence[Layer], *, deep: bool) -> None:
        """After an engine failed to read: raise if a file is missing, truncated or (deep) changed."""
        for layer in layers:
            if layer.object.place != "inline":
                self.files.locate(layer.object).check(layer.object, deep=deep)

    def small_rows(self, inline: Sequence[StoredObject], pending: Mapping[ObjectId, bytes]) -> dict[ObjectId, pa.Table]:
        """Decode the rows of objects that are in the catalogue, or about to be."""
        from anabranch.arrow.plain import plain
        from anabranch.objects.parquet import decode

        found = {o.id: self.cache.get(o.id) for o in inline}
        missing = [o for o in inline if found[o.id] is None]
        contents = {o.id: pending[o.id] for o in missing if o.id in pending}
        absent = [o.id for o in missing if o.id not in contents]
        if absent:
            with self.catalog.read() as cx:
                contents.update(object_rows.contents(cx, absent))
        for o in missing:
            rows = plain(decode(_checked(o, contents.get(o.id))))
            if rows.num_rows != o.row_count:
                message = f"object {o.id} has {rows.num_rows} rows, {o.row_count} were written"
                raise Corrupt(message, hint="restore the catalogue from a backup")
            self.cache.put(o.id, rows)
            found[o.id] = rows
        return {id_: rows for id_, rows in found.items() if rows is not None}


_asked = threading.local()


def _checked(o: StoredObject, content: bytes | None) -> bytes:
    if content is None:
        raise Corrupt(f"object {o.id} is missing from the catalogue", hint="restore the catalogue from a backup")
    if hashlib.sha256(content).hexdigest() != o.sha256:
        raise Corrupt(f"object {o.id} is not what was written: its sha256 differs", hint="restore from a backup")
    return content


def default_author() -> str:
    """The name of the user who runs this process."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"
