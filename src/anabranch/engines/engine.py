"""What an engine must do; one contract suite tests both."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Protocol

import pyarrow as pa

from anabranch.errors import Unavailable
from anabranch.model.types import DataType
from anabranch.queries.query import Query


class InPlace(Enum):
    """Write rows in the partitions they are in, without a shuffle."""

    SORTED = "as they lie"
    UNSORTED = "sorted within each"


FileCount = int | InPlace | None
"""How many files an engine should write: a number, one per partition, or its own choice."""


class Engine(Protocol):
    """Runs queries, and returns or writes their rows."""

    name: str
    in_process: bool
    """Whether results are in this process already, so that intermediate files would only cost."""

    def fetch(self, query: Query) -> pa.Table:
        """Run a query and return its rows."""

    def types(self, query: Query) -> list[DataType | None]:
        """The types of a query's columns, without running it; None for bare nulls."""

    def write(
        self, query: Query, uri: str, cluster: Sequence[str], number: str | None = None, files: FileCount = None
    ) -> None:
        """Run a query and write its rows as Parquet files below `uri`, sorted by `cluster` within and across files.

        With `number`, each row gets a number, unique within this write, in a column of that name. `files` says how many
        files are wanted; by default, the engine decides.
        """


def out_of_sight(uri: str) -> Unavailable:
    """The error for an engine that runs where it can't see our files."""
    message = f"Spark's server can't see {uri}, which is in the store's object root here"
    return Unavailable(message, hint=_SHARE, uri=uri)


def wrote_elsewhere(uri: str) -> Unavailable:
    """The error for an engine that wrote successfully, but to where we find nothing."""
    message = f"Spark wrote to {uri}, but nothing is there: the machines that it runs on have other disks"
    return Unavailable(message, hint=_SHARE, uri=uri)


_SHARE = "put the store's objects where both see them at the same path, such as a shared mount, or use engine='duck'"
