"""Where object roots lie: the scheme of a location says which kind is meant."""

from __future__ import annotations

from anabranch.errors import InvalidRequest
from anabranch.objects.folder import Folder
from anabranch.objects.root import ObjectRoot


def open_root(location: str, store_id: str = "") -> ObjectRoot:
    """Open an object root by its location, for a store that puts files there."""
    if "://" in location and not location.startswith("file://"):
        scheme = location.split("://", 1)[0]
        hint = "give a folder; other roots are not built yet"
        raise InvalidRequest(f"an object root can't lie at {scheme}://", hint=hint)
    return Folder(location.removeprefix("file://"), store_id)
