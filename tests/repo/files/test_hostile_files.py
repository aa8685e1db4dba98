"""Trees that no write makes: their files are refused before anything is unfolded, however they are read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch.model.files import BlockRef, FileRow, files_schema
from anabranch.model.paths import split_path
from anabranch.plan.refs_forest import MAX_LEVEL, WIDTH, encode_list
from anabranch.queries.query import INSERT
from anabranch.repo.files.block_writer import BlockWriter
from anabranch.repo.files.statement import statement_of

Make = Callable[[BlockWriter], tuple[Iterable[BlockRef], int]]
"""Makes the references of a file, and the size that it is said to have."""
HUGE = 1 << 60


def put_row(repo: ab.Repository, path: str, make: Make) -> None:
    """Publish a file as a stranger would write it, with a sound hash."""
    ctx = repo._ctx
    with repo.commit("main", "hostile") as tx:
        writer = BlockWriter(ctx)
        refs, size = make(writer)
        row = FileRow(*split_path(path), size, None, None, datetime.now(UTC), None, None, tuple(refs))
        schema = files_schema(ctx.record.id)
        tx.add(tx.files_thing(), statement_of(ctx, schema, [(INSERT, None, row)], writer))


def leaf(writer: BlockWriter, content: bytes = b"line\n" * 13_000) -> BlockRef:
    (ref,), _ = writer.write_bytes(content, "x")
    return ref


def nested(writer: BlockWriter) -> tuple[list[BlockRef], int]:
    """A list in a list in a list, each four times: 4 ** 11 blocks of 64 kB."""
    found = leaf(writer)
    for level in range(1, MAX_LEVEL):
        found = writer._put_list(encode_list([found] * WIDTH), level)
    return [found], HUGE


def wide_list(writer: BlockWriter) -> tuple[list[BlockRef], int]:
    return [writer._put_list(encode_list([leaf(writer)] * 100_000), 1)], HUGE


def wide_file(writer: BlockWriter) -> tuple[list[BlockRef], int]:
    return [leaf(writer)] * 200_000, HUGE


def larger_than_said(writer: BlockWriter) -> tuple[list[BlockRef], int]:
    return [leaf(writer)] * 200, 1


def past_its_pack(writer: BlockWriter) -> tuple[list[BlockRef], int]:
    return [leaf(writer)._replace(size=HUGE)], HUGE


def before_its_pack(writer: BlockWriter) -> tuple[list[BlockRef], int]:
    return [leaf(writer)._replace(start=-10)], HUGE


def negative(writer: BlockWriter) -> tuple[list[BlockRef], int]:
    return [leaf(writer), leaf(writer)._replace(size=-1)], HUGE


HOSTILE = [nested, wide_list, wide_file, larger_than_said, past_its_pack, before_its_pack, negative]
READS: list[Callable[[ab.Repository, Path], Any]] = [
    lambda repo, _: repo.files().read("d/bomb.txt"),
    lambda repo, _: repo.files().read("d/bomb.txt", 10, 1),
    lambda repo, _: list(repo.files().lines("d/bomb.txt")),
    lambda repo, _: repo.files().arrow("d/**"),
    lambda repo, _: repo.files().arrow("d/**", as_="lines"),
    lambda repo, _: repo.files().paths("d/**"),
    lambda repo, place: repo.checkout(place),
    lambda repo, _: repo.files().read("d/bomb.txt", since="main~1"),
]


@pytest.mark.parametrize("make", HOSTILE)
def test_a_file_that_no_write_makes_is_refused_by_every_reader(tmp_path: Path, make: Make) -> None:
    with ab.init(tmp_path / "store", engine="duck") as repo:
        put_row(repo, "d/bomb.txt", make)
        for n, read in enumerate(READS):
            with pytest.raises(ab.Corrupt):
                read(repo, tmp_path / "work")
            assert not (tmp_path / "work" / "d" / "bomb.txt").exists(), n
        assert ["d/bomb.txt" in damage.what for damage in repo.verify().damages] == [True]
        with repo.commit("main", "it can be removed") as tx:
            tx.files.delete("d/bomb.txt")
        assert repo.verify(deep=True).damages == ()
        assert repo.files().count() == 0


@pytest.mark.jvm
@pytest.mark.parametrize("make", HOSTILE)
def test_a_file_that_no_write_makes_is_not_sent_to_executors(tmp_path: Path, make: Make, spark: Any) -> None:
    with ab.init(tmp_path / "store", spark=spark) as repo:
        put_row(repo, "d/bomb.txt", make)
        for form in ("content", "lines", "blocks"):
            with pytest.raises(ab.Corrupt):
                repo.files().spark("d/**", as_=form)


def test_a_packed_file_that_is_one_block_reads_as_before(tmp_path: Path) -> None:
    content = os.urandom(9 * 1024 * 1024)
    with ab.init(tmp_path / "store", engine="duck") as repo:
        with repo.commit("main", "whole") as tx:
            tx.files.put("a.zip", content)
            tx.files.put("text", b"x\n" * 5_000_000)
        found = repo.files().read("a.zip")
        assert hashlib.sha256(found).digest() == hashlib.sha256(content).digest()
        assert len(repo.files().read("text")) == 10_000_000
