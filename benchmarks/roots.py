"""Objects on a local S3 server against a folder: reads in the process and on Spark, and what commits upload."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import process_time
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

import anabranch as ab
from benchmarks import on_spark, orders
from benchmarks.limits import LIMITS
from benchmarks.measure import Measured, Scale, Task, compared, run_each, side_by_side
from tests.s3 import ENVIRONMENT, S3Server, s3a_jars
from tests.tiny_s3 import TinyS3


def in_process(scale: Scale, rows: int) -> Iterator[Measured]:
    """Read all columns and two of them again and again, in CPU seconds; from the second time on from the cache."""
    with (
        S3Server() as server,
        _stores(scale, rows, server) as (near, far),
        ab.open(near, engine="duck") as folder,
        ab.open(far, engine="duck") as s3,
    ):
        for what, columns in (("all columns", None), ("2 columns", ["id", "status"])):
            tasks = {
                "folder": Task(lambda _, c=columns: folder.table("orders", columns=c).arrow()),
                "s3": Task(lambda _, c=columns: s3.table("orders", columns=c).arrow()),
            }
            times = side_by_side(tasks, scale.rounds(20), warm_up=2, patience=scale.patience, clock=process_time)
            limit = LIMITS["roots-cached"]
            yield compared(f"roots-cached, {what}", f"{rows:,} rows", times["folder"], times["s3"], limit)


def spark(scale: Scale, rows: int) -> Iterator[Measured]:
    """Run a query over the table on Spark, by s3a and from the folder."""
    with (
        S3Server() as server,
        _stores(scale, rows, server) as (near, far),
        on_spark.open_session(scale.folder, {"spark.jars": s3a_jars()}) as session,
        ab.open(near, engine="spark", spark=session) as folder,
        ab.open(far, engine="spark", spark=session) as s3,
    ):
        tasks = {
            "folder": Task(lambda _: on_spark.revenue(folder.table("orders").spark())),
            "s3": Task(lambda _: on_spark.revenue(s3.table("orders").spark())),
        }
        times = side_by_side(tasks, scale.rounds(15), warm_up=scale.rounds(5), patience=scale.patience)
        limit = LIMITS["roots-spark"]
        yield compared("roots-spark", f"{rows:,} rows", times["folder"], times["s3"], limit)


def uploads(scale: Scale, rows: int) -> Iterator[Measured]:
    """Count what clients send: bytes of a load, and requests of a commit of 100 rows."""
    os.environ.update(ENVIRONMENT, XDG_CACHE_HOME=str(scale.folder / "cache"))
    place = scale.folder / f"uploads-{uuid4().hex}"
    with TinyS3() as server, ab.init(place, objects=server.root(), engine="duck") as repo:
        before = server.sent_bytes
        with repo.commit("main", "load") as tx:
            tx.create_table(
                "t", pq.read_table(orders.write_shuffled(scale.folder / "load.parquet", max(rows, 100_000))), key="id"
            )
        stored = sum(len(server.blobs[name]) for name in server.objects())
        sent = server.sent_bytes - before
        limit = LIMITS["roots-uploads"]
        yield Measured("roots-uploads, bytes of a load", "MB", stored / 1e6, sent / 1e6, sent / stored, limit)
        requests = server.requests.total()
        with repo.commit("main", "small") as tx:
            tx.create_table("u", pa.table({"id": range(100)}), key="id")
        made = server.requests.total() - requests
        yield Measured("roots-uploads, requests of a commit of 100 rows", "count", 0, made, made, 0)


@contextmanager
def _stores(scale: Scale, rows: int, server: S3Server) -> Iterator[tuple[Path, Path]]:
    """The same orders in a folder, and with their objects on the server."""
    os.environ.update(ENVIRONMENT, XDG_CACHE_HOME=str(scale.folder / "cache"))
    given = pq.read_table(orders.write_shuffled(scale.folder / "incoming.parquet", rows))
    near, far = (scale.folder / f"{kind}-{uuid4().hex}" for kind in ("near", "far"))
    for place, objects in ((near, None), (far, server.new_root())):
        with ab.init(place, objects=objects, engine="duck") as repo, repo.commit("main", "load") as tx:
            tx.create_table("orders", given, key="id")
    yield near, far


BENCHMARKS = {"roots-process": in_process, "roots-on-spark": spark, "roots-counts": uploads}


def run(chosen: tuple[str, ...], scale: Scale) -> list[Measured]:
    """Run each at each size."""
    return run_each(BENCHMARKS, chosen, scale)
