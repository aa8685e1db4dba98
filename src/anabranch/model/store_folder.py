"""The folder of a store on a file system, and what is in it."""

from __future__ import annotations

import os
from pathlib import Path

from anabranch.errors import InvalidRequest, Unavailable
from anabranch.model.addresses import is_mistyped

FOLDER = ".anabranch"
"""The folder inside a store's own that holds the catalogue, the objects and what the command line remembers."""
CATALOG, REMEMBERED, OBJECTS = "catalog.db", "cli.json", "objects"


def check_folder(location: str) -> None:
    """Refuse a folder that is not there and was meant to be an address, so that none is named after a password."""
    place = Path(location)
    there = next((above for above in (place, *place.parents) if os.path.isdir(above)), None)
    new = location if there in (None, Path(".")) else str(place.relative_to(there))
    if there != place and is_mistyped(new):
        hint = "write postgresql://…, s3://… or hdfs://…; nothing was made"
        raise InvalidRequest("that is meant to be an address, and can't be read as one", hint=hint)


def is_in_same_folder(objects: str, catalogue: str) -> bool:
    """Whether objects are in the very folder of a catalogue, and not where a link leads."""
    return os.path.dirname(os.path.realpath(objects)) == os.path.dirname(os.path.realpath(catalogue))


def is_there(place: Path, name: str) -> bool:
    """Tell whether a store's folder has a file of this name; raise Unavailable if the folder may not be searched."""
    folder = place / FOLDER
    if os.path.isfile(folder / name):
        return True
    if os.path.isdir(folder) and not os.access(folder, os.X_OK):
        raise Unavailable(f"{folder} can't be looked into: permission denied", hint="check its permissions")
    return False
