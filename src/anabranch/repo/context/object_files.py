"""Where the file of an object is: in the store's own root, or elsewhere. Nothing else resolves that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from anabranch.catalog.objects import places_of
from anabranch.catalog.store import Catalog
from anabranch.errors import AnabranchError, Corrupt
from anabranch.model.ids import ObjectId
from anabranch.model.layers import Layers
from anabranch.model.objects import FileAddress, StoredObject
from anabranch.objects.root import ObjectRoot


@dataclass(frozen=True)
class LocatedFile:
    """The file of an object: a root, and its path in it."""

    root: ObjectRoot
    path: str

    def open(self) -> BinaryIO:
        """Open the file for reading; Corrupt if it is gone."""
        return self.root.open(self.path)

    def check(self, o: StoredObject, *, deep: bool) -> None:
        """Raise Corrupt if the file is missing or has another size; with `deep`, also if its hash differs."""
        self.root.check(self.path, o.size_bytes, o.sha256 if deep else None)

    def compare(self, o: StoredObject) -> None:
        """Raise Corrupt if the file is not what was written; a far file is fetched, and the local copy compared."""
        if not self.root.is_far:
            self.check(o, deep=True)
            return
        with self.root.at_hand([FileAddress.of(self.root.uri(self.path), replace(o, path=self.path))]):
            pass


@dataclass(frozen=True)
class ObjectFiles:
    """Finds the files of objects. Objects never change, so one that was found and compared stays valid."""

    catalog: Catalog
    own: ObjectRoot
    open_root: Callable[[str], ObjectRoot]
    _roots: dict[str, ObjectRoot] = field(default_factory=dict)
    _found: dict[ObjectId, LocatedFile] = field(default_factory=dict)

    def locate(self, o: StoredObject) -> LocatedFile:
        """Find the file of an object; if elsewhere, the first intact copy, compared once."""
        if o.path is not None:
            return LocatedFile(self.own, o.path)
        if o.id not in self._found:
            self._found[o.id] = self._whole_copy(o)
        return self._found[o.id]

    def address(self, o: StoredObject) -> str:
        """The address for engines; before they read, files of our own root are compared with what was written."""
        found = self.locate(o)
        uri = found.root.uri(found.path)
        return FileAddress.of(uri, o) if found.root is self.own else uri

    def addresses(self, layers: Layers) -> Mapping[ObjectId, str]:
        """The addresses of all files among layers."""
        return Addresses(layers, self)

    def _whole_copy(self, o: StoredObject) -> LocatedFile:
        with self.catalog.read() as cx:
            places = places_of(cx, [o.id]).get(o.id, [])
        if not places:
            raise Corrupt(f"object {o.id} lies elsewhere, and no location is known", hint="run `ana verify`")
        problem: AnabranchError | None = None
        for place in places:
            found = LocatedFile(self.root_at(place.url), place.path)
            try:
                found.compare(o)
            except AnabranchError as error:
                problem = error
            else:
                return found
        assert problem is not None
        raise problem

    def root_at(self, url: str) -> ObjectRoot:
        """Open the root at a location, once."""
        if url not in self._roots:
            self._roots[url] = self.open_root(url)
        return self._roots[url]


class Addresses(Mapping[ObjectId, str]):
    """The addresses of files among layers, by object id; computed on demand."""

    def __init__(self, layers: Layers, files: ObjectFiles) -> None:
        self._layers, self._files = layers, files

    def __getitem__(self, id_: ObjectId) -> str:
        o = self._layers.find(id_)
        if o is None or o.place == "inline":
            raise KeyError(id_)
        return self._files.address(o)

    def __iter__(self) -> Iterator[ObjectId]:
        return (id_ for id_, o in self._layers.objects.items() if o.place != "inline")

    def __len__(self) -> int:
        return sum(1 for _ in self)
