"""All files that a catalogue names: in rows of its own, and in the manifests that it has."""

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
    """Finds them again and again; a manifest, which never changes, is read once."""

    read: ReadManifest
    _inside: dict[ObjectId, list[StoredObject]] = field(default_factory=dict)

    def paths(self, cx: Connection) -> Iterator[str]:
        """Yield their paths; some come more than once."""
        yield from objects.paths(cx)
        yield from (o.path for o in self.listed(cx) if o.path)

    def listed(self, cx: Connection) -> Iterator[StoredObject]:
        """Yield the objects in files of the root that manifests list."""
        for manifest in objects.manifests(cx):
            if manifest.id not in self._inside:
                self._inside[manifest.id] = [o for o in self.read(manifest) if o.path]
            yield from self._inside[manifest.id]
