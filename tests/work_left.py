"""Lists what jobs and Spark's tasks left in the places where they work."""

from __future__ import annotations

import copy

import anabranch as ab
from anabranch.objects.workplaces import BucketPlace, FolderPlace


def work_left(repo: ab.Repository) -> list[str]:
    """The places of work that were not removed."""
    place = copy.copy(repo.workbook.place("any"))
    if isinstance(place, FolderPlace):
        place.path = place.path.rpartition("/")[0]
    else:
        assert isinstance(place, BucketPlace)
        place._base = place._base.rpartition("/")[0]
    return place.names()
