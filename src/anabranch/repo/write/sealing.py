"""Seal files that Spark wrote: hash, sync and describe them, on the executors unless they are small."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from anabranch.engines.engine import wrote_elsewhere
from anabranch.errors import Corrupt
from anabranch.model.objects import KeyRange
from anabranch.model.schema import Column
from anabranch.objects import looks, parquet
from anabranch.objects.looks import Look, LookTask
from anabranch.objects.root import WrittenFile
from anabranch.repo.context.context import Context
from anabranch.settings import HASHING_THREADS

_log = logging.getLogger("anabranch.engines")


@dataclass(frozen=True)
class LookedFile:
    """A file below a prefix, and what was found in it."""

    path: str
    look: Look
    key_range: KeyRange | None


def seal(
    ctx: Context, prefix: str, key: Sequence[Column], *, hashes: bool, repeats: int, never_null: Sequence[Column] = ()
) -> list[LookedFile]:
    """Look at what Spark wrote under a prefix. It writes a file even for no rows, so none means it wrote elsewhere."""
    files = ctx.root.written(prefix)
    if not files:
        raise wrote_elsewhere(ctx.root.uri(prefix))
    names, never = (tuple(str(c.id) for c in columns) for columns in (key, never_null))
    task = LookTask(names, hashes, repeats if key else 0, never)
    try:
        seen = _look(ctx, files, task)
    except Corrupt:
        ctx.root.settle(prefix)  # raises if some of them were garbage-collected
        raise
    ctx.root.settle(prefix)
    return [LookedFile(f.path, s, parquet.key_range(s.ranges, key)) for f, s in zip(files, seen, strict=True)]


def _look(ctx: Context, files: Sequence[WrittenFile], task: LookTask) -> list[Look]:
    if sum(f.size_bytes for f in files) <= ctx.settings.spark.seal_in_process_limit_bytes:
        return look_in_process(ctx, files, task)
    from anabranch.engines.spark_files import EXECUTOR_FAILURES, files_on_executors

    by_path, by_content = partial(looks.look_by_path, task), partial(looks.look_by_content, task)
    try:
        uris = [ctx.root.uri(f.path) for f in files]
        described = files_on_executors(
            ctx.engines.spark().session, uris, by_path, by_content, [looks], ctx.root.spark_options()
        )
        return [looks.read_answer(content) for content in described]
    except EXECUTOR_FAILURES as error:
        _log.warning("Spark's executors can't hash the files that they wrote, so this process does: %s", error)
        return look_in_process(ctx, files, task)


def look_in_process(ctx: Context, files: Sequence[WrittenFile], task: LookTask) -> list[Look]:
    """Look at files here; their bytes pass through this process."""

    def look(file: WrittenFile) -> Look:
        with ctx.root.open(file.path) as opened:
            return parquet.look(opened, task)

    with ThreadPoolExecutor(HASHING_THREADS) as pool:
        return list(pool.map(look, files))
