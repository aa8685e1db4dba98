"""Cutting: the same places for the same bytes, whole lines, and little that moves with an insertion."""

from __future__ import annotations

import hashlib
import random

import pytest

import anabranch as ab
from anabranch.objects.chunks import MAX_BYTES, MIN_BYTES, check_chunking, cut, is_packed


def text(lines: int) -> bytes:
    rng = random.Random(7)
    return b"".join(b"%d,%s\n" % (n, rng.randbytes(12).hex().encode()) for n in range(lines))


def test_cuts_are_where_they_were_when_this_was_written() -> None:
    """Another cutter would still read all files, but share no block with what is stored."""
    content = random.Random(3).randbytes(1_000_000)
    sizes = [len(block) for block in cut([content])]
    assert sizes == GOLDEN


GOLDEN = [
    26528,
    54504,
    84033,
    66976,
    120281,
    88598,
    88083,
    42281,
    19092,
    48834,
    113911,
    72963,
    31985,
    42312,
    37328,
    62291,
]


@pytest.mark.parametrize("chunking", ["content", "lines", "fixed"])
def test_blocks_together_are_the_content_however_it_is_read(chunking: str) -> None:
    content = text(60_000)
    pieces = [content[n : n + 70_001] for n in range(0, len(content), 70_001)]
    blocks = list(cut([content], chunking))  # type: ignore[arg-type]
    assert b"".join(blocks) == content
    assert list(cut(pieces, chunking)) == blocks  # type: ignore[arg-type]
    assert all(len(b) <= 2 * MAX_BYTES for b in blocks)
    assert list(cut([])) == []


def test_blocks_of_text_are_whole_lines() -> None:
    blocks = list(cut([text(60_000)]))
    assert len(blocks) > 10
    assert all(b.endswith(b"\n") for b in blocks)
    assert all(len(b) >= MIN_BYTES for b in blocks[:-1])


def test_a_line_inserted_at_the_top_moves_few_blocks() -> None:
    content = text(60_000)
    known = {hashlib.sha256(b).digest() for b in cut([content])}
    new = [b for b in cut([b"a new line\n" + content]) if hashlib.sha256(b).digest() not in known]
    assert sum(map(len, new)) < len(content) / 5


def test_packed_formats_are_known_by_their_names_and_other_words_are_refused() -> None:
    assert is_packed("a.parquet")
    assert is_packed("A.CSV.GZ")
    assert not is_packed("a.csv")
    with pytest.raises(ab.InvalidRequest, match="chunking='none'"):
        check_chunking("none")
