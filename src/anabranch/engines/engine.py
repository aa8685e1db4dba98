"""What an engine promises; one contract suite holds both to it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Protocol

import pyarrow as pa

from anabranch.errors import Unavailable
from anabranch.model.types import DataType
from anabranch.queries.query import Query


class InPlace(Enum):
    """Rows that are written in the partitions that they are in: nothing is exchanged."""

    SORTED = "as they lie"
    UNSORTED = "sorted within each"


FileCount = int | InPlace | None
"""How many files an engine is to write: as many, one for each partition, or as it decides."""


class Engine(Protocol):
    """Runs queries and gives their rows back, or writes them."""

    name: str
    in_process: bool
    """Whether rows are at hand once they are computed, so that files in between would only cost."""

    def fetch(self, query: Query) -> pa.Table:
        """Run a query and return its rows."""

    def types(self, query: Query) -> list[DataType | None]:
        """Say which types the columns of a query have, without running it; None for bare nulls."""

    def write(
        self, query: Query, uri: str, cluster: Sequence[str], number: str | None = None, files: FileCount = None
    ) -> None:
        """Run a query and write its rows as Parquet files below `uri`, sorted by `cluster` within and across files.

        With `number`, each row gets a number that no other row of this write has, in a column of that name.
        `files` says how many are wanted; without it, the engine decides.
        """


def out_of_sight(uri: str) -> Unavailable:
    """The error of an engine that runs where our files are not."""
    message = f"Spark's server can't see {uri}, which is in the store's object root here"
    return Unavailable(message, hint=_SHARE, uri=uri)


def wrote_elsewhere(uri: str) -> Unavailable:
    """The error of an engine that wrote, without an error, where we find nothing."""
    message = f"Spark wrote to {uri}, but nothing is there: the machines that it runs on have other disks"
    return Unavailable(message, hint=_SHARE, uri=uri)


_SHARE = "put the store's objects where both see them at the same path, such as a shared mount, or use engine='duck'"
