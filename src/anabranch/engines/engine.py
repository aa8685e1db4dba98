"""What an engine promises; one contract suite holds both to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import pyarrow as pa

from anabranch.model.types import DataType
from anabranch.queries.query import Query


class Engine(Protocol):
    """Runs queries and gives their rows back, or writes them."""

    name: str
    in_process: bool
    """Whether rows are at hand once they are computed, so that files in between would only cost."""

    def fetch(self, query: Query) -> pa.Table:
        """Run a query and return its rows."""

    def types(self, query: Query) -> list[DataType | None]:
        """Say which types the columns of a query have, without running it; None for bare nulls."""

    def write(self, query: Query, uri: str, cluster: Sequence[str], files: int | None = None) -> None:
        """Run a query and write its rows as Parquet files below `uri`, sorted by `cluster` within and across files.

        `files` says how many are wanted; without it, the engine decides.
        """
