"""All files that a catalogue names: in its own rows, and in its manifests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlalchemy import Connection

from anabranch.catalog import objects
from anabranch.model.ids import ObjectId
from anabranch.model.layers import ReadManifest
from anabranch.model.objects import StoredObject


@dataclass(frozen=True)
class NamedFiles:
    """Lists the files, repeatedly if need be; a manifest never changes, so it is read once."""

    read: ReadManifest
    _inside: dict[ObjectId, list[StoredObject]] = field(default_factory=dict)

    def paths(self, cx: Connection) -> Iterator[str]:
        """Yield their paths, some more than once."""
        yield from objects.paths(cx)
        yield from (o.path for o in self.listed(cx) if o.path)

    def listed(self, cx: Connection) -> Iterator[StoredObject]:
        """Yield the objects listed by manifests that are files in the root."""
        for manifest in objects.manifests(cx):
            if manifest.id not in self._inside:
                self._inside[manifest.id] = [o for o in self.read(manifest) if o.path]
            yield from self._inside[manifest.id]
