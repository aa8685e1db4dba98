"""Stores that an earlier version wrote wrongly, kept as files: `damaged_stores.zip` has the catalogue of each.

| store | what happened to it |
| --- | --- |
| `hidden-two` | two writers of the first files: the file of the first is hidden |
| `hidden-open` | the same by two open commits |
| `hidden-four` | four writers of the first files; a tag and a branch on it; later writes where hidden files are |
| `counts` | writers at once, after which the tree counts wrong: too few files, then too many |
| `negative` | the same, until the tree counted less than none |
| `kept-deletes` | files counted wrongly, in a snapshot that kept deletes: only reading tells how many there are |
| `facts` | facts that are a whole number, one of more than 64 bits, and null |
| `facts-of-ours` | facts of a user's named `job` and `pipeline` |
| `facts-of-jobs` | a job, a pipeline, a stream and a write of Spark, under the names that facts had |
"""

from __future__ import annotations

import zipfile
from pathlib import Path

KEPT = Path(__file__).with_name("damaged_stores.zip")


def restore(name: str, folder: Path) -> Path:
    """Put a store back into a folder, and return its place."""
    catalog = f"{name}/.anabranch/catalog.db"
    with zipfile.ZipFile(KEPT) as archive:
        archive.extract(catalog, folder)
    return folder / name
