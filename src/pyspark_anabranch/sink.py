"""A sink for streams: each micro-batch becomes one commit, however often Spark delivers it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import anabranch as ab
from anabranch import InvalidRequest, NotFound, Repository, Transaction
from anabranch.model.facts import STREAM
from pyspark_anabranch.writing import WriteIdentity, publish_once

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_QUERY_ID = "sql.streaming.queryId"


def anabranch_sink(
    store: Repository | str | PathLike[str],
    table: str,
    *,
    key: str | Sequence[str] | None = None,
    branch: str | None = None,
    repository: str | None = None,
    query: str | None = None,
    how: Literal["upsert", "insert", "overwrite"] | None = None,
) -> Callable[[DataFrame, int], None]:
    """Return a function for `foreachBatch`: `df.writeStream.foreachBatch(anabranch_sink("shop", "orders")).start()`.

    A batch is identified by its number and the query's id, which the checkpoint keeps. `query` replaces that id; Spark
    Connect requires it, and a path for `store`. Rows are upserted if the table has a key, else inserted. If there is no
    table, the first batch with rows makes it, with `key`.
    """
    if how not in (None, "upsert", "insert", "overwrite"):
        raise InvalidRequest(f"how= is {how!r}", hint="choose upsert, insert or overwrite")

    def write_batch(frame: DataFrame, batch: int) -> None:
        identity = WriteIdentity(STREAM, {"query": query or _query_id(frame), "batch": batch})
        with _opened(store, repository, frame) as repo:
            on = repo.default_branch if branch is None else branch
            publish_once(repo, on, f"batch {batch} to {table}", identity, lambda tx: _write(tx, frame))

    def _write(tx: Transaction, frame: DataFrame) -> None:
        if table not in {name for name, kind, _ in tx.all_names() if kind == "table"}:
            if key is None:
                hint = "make the table first, or name its key: anabranch_sink(…, key='id')"
                raise NotFound(f"there is no table {table!r} to write the stream to", hint=hint)
            tx.create_table(table, frame, key=key)
            return
        target = tx.table(table)
        verb = how or ("upsert" if target.key else "insert")
        getattr(target, verb)(frame)

    return write_batch


@contextmanager
def _opened(store: Repository | str | PathLike[str], repository: str | None, frame: DataFrame) -> Iterator[Repository]:
    if isinstance(store, Repository):
        yield store if repository is None else store.sibling(repository)
        return
    with ab.open(store, repository=repository, spark=frame.sparkSession) as repo:
        yield repo


def _query_id(frame: DataFrame) -> str:
    """The id of this micro-batch's query, which survives restarts."""
    context: Any = getattr(frame.sparkSession, "sparkContext", None)
    found = None if context is None else context.getLocalProperty(_QUERY_ID)
    if not found:
        raise InvalidRequest("the stream has no id here", hint="name it: anabranch_sink(…, query='orders-to-main')")
    return str(found)
