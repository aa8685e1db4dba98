"""What a process has read of the catalogue and never changes: objects, and the layers of views."""

from __future__ import annotations

from collections import OrderedDict

from anabranch.model.ids import ObjectId, ViewId
from anabranch.model.layers import Layers, ReadManifest
from anabranch.model.objects import StoredObject
from anabranch.settings import KNOWN_OBJECTS_LIMIT


class ObjectCache(dict[ObjectId, StoredObject]):
    """Objects by id. The limits grow with what was read last, so a table of any size fits."""

    def __init__(self) -> None:
        super().__init__()
        self.read_manifest: ReadManifest | None = None
        """Reads the objects that a manifest lists; the catalogue does not hold its bytes."""
        self._views: OrderedDict[tuple[ViewId, int], Layers] = OrderedDict()

    def view(self, id_: ViewId, above: int) -> Layers | None:
        """The layers of a view above a number of turns, if they were read before."""
        found = self._views.get((id_, above))
        if found is not None:
            self._views.move_to_end((id_, above))
        return found

    def keep_view(self, id_: ViewId, above: int, layers: Layers) -> Layers:
        """Keep the layers of a view, dropping those least recently used."""
        self._views[(id_, above)] = layers
        most = max(4 * KNOWN_OBJECTS_LIMIT, len(layers))
        while sum(map(len, self._views.values())) > most:
            self._views.popitem(last=False)
        return layers

    def forget(self) -> None:
        """Forget everything, because objects have moved."""
        self.clear()
        self._views.clear()

    def make_room(self, read: Layers) -> None:
        """If there are too many objects, forget all but those of the table just read."""
        if len(self) > max(KNOWN_OBJECTS_LIMIT, 2 * len(read)):
            kept = dict(read.objects)
            self.clear()
            self.update(kept)
