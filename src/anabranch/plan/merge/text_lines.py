"""Merge three versions of a text line by line: take what only one side changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher


def merge_lines(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """Merge two changes of a text; None if both changed the same lines differently, or one is not text."""
    try:
        sides = [side.decode().splitlines(keepends=True) for side in (base, ours, theirs)]
    except UnicodeDecodeError:
        return None
    merged: list[str] = []
    for old, mine, other in _regions(*sides):
        if mine == other or other == old:
            merged += mine
        elif mine == old:
            merged += other
        else:
            return None
    return "".join(merged).encode()


def _regions(
    base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]
) -> Iterator[tuple[Sequence[str], Sequence[str], Sequence[str]]]:
    """Cut three texts at the lines that all of them share; each piece comes as base, ours and theirs."""
    mine, other = (_places(base, side) for side in (ours, theirs))
    at = (0, 0, 0)
    for n in [n for n in range(len(base)) if n in mine and n in other]:
        here = (n, mine[n], other[n])
        if here != at:
            yield _between(base, ours, theirs, at, here)
        yield base[n : n + 1], ours[mine[n] : mine[n] + 1], theirs[other[n] : other[n] + 1]
        at = (n + 1, mine[n] + 1, other[n] + 1)
    yield _between(base, ours, theirs, at, (len(base), len(ours), len(theirs)))


def _between(
    base: Sequence[str],
    ours: Sequence[str],
    theirs: Sequence[str],
    start: tuple[int, int, int],
    end: tuple[int, int, int],
) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
    return base[start[0] : end[0]], ours[start[1] : end[1]], theirs[start[2] : end[2]]


def _places(base: Sequence[str], side: Sequence[str]) -> dict[int, int]:
    """Map lines of the base to their places in another version."""
    found = SequenceMatcher(None, base, side, autojunk=False).get_matching_blocks()
    return {block.a + n: block.b + n for block in found for n in range(block.size)}
