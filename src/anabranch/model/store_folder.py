"""The folder of a store on a file system, and what is in it."""

from __future__ import annotations

import os
from pathlib import Path

from anabranch.errors import Unavailable

FOLDER = ".anabranch"
"""The folder inside a store's own that holds the catalogue, the objects and what the command line remembers."""
CATALOG, REMEMBERED, OBJECTS = "catalog.db", "cli.json", "objects"


def is_there(place: Path, name: str) -> bool:
    """Tell whether a store's folder has a file of this name; raise Unavailable if the folder may not be searched."""
    folder = place / FOLDER
    if os.path.isfile(folder / name):
        return True
    if os.path.isdir(folder) and not os.access(folder, os.X_OK):
        raise Unavailable(f"{folder} can't be looked into: permission denied", hint="check its permissions")
    return False
