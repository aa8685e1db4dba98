"""References of a file as a forest: four neighbours of a level become one list, so that many appends stay small."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from anabranch.errors import Corrupt
from anabranch.model.files import BlockRef

WIDTH = 4
MAX_LEVEL = 12
"""Deeper than any file that was ever written; a list that claims more is malicious."""
LIST_LIMIT = 16
"""More references than a list has that anyone wrote."""
ROOTS_LIMIT = 256
"""More references than a file has at the top, where there are fewer of each level than a list has."""

_HINT = "`ana verify` names all such files; delete it, or restore a backup"


def folded(refs: Sequence[BlockRef], put_list: Callable[[bytes, int], BlockRef]) -> tuple[BlockRef, ...]:
    """Put neighbours of one level into lists, from the front; `put_list` stores a list at a level."""
    found: list[BlockRef] = []
    for ref in refs:
        found.append(ref)
        while _ends_full(found):
            level = found[-1].level + 1
            found[-WIDTH:] = [put_list(encode_list(found[-WIDTH:]), level)]
    return tuple(found)


def _ends_full(refs: Sequence[BlockRef]) -> bool:
    last = refs[-WIDTH:]
    return len(last) == WIDTH and all(r.level == last[0].level for r in last)


def leaves(refs: Iterable[BlockRef], read_list: Callable[[BlockRef], bytes], size: int) -> Iterator[BlockRef]:
    """Yield the references to bytes at the leaves, in order, of a file of this size.

    A forest that no write makes is refused: a list is in it once, so that all of them take no more room than the packs
    that they are read from, and its leaves have no more bytes than the file.
    """
    left = size
    for ref in _walked(refs, read_list, MAX_LEVEL + 1, set()):
        left -= ref.size
        if left < 0:
            raise _impossible(f"a file of {size} bytes has blocks of more")
        yield ref


_Place = tuple[str, int]
"""A pack, and an offset in it."""


def _walked(
    refs: Iterable[BlockRef], read_list: Callable[[BlockRef], bytes], above: int, seen: set[_Place]
) -> Iterator[BlockRef]:
    for ref in refs:
        if min(ref.level, ref.start, ref.size) < 0 or ref.level >= above:
            raise _impossible(f"a reference of level {ref.level} to {ref.size} bytes is below one of level {above}")
        if ref.level == 0:
            yield ref
            continue
        place = (ref.object, ref.start)
        if place in seen:
            raise _impossible("a list of blocks is in a file twice")
        seen.add(place)
        inside = decode_list(read_list(ref))
        if len(inside) > LIST_LIMIT:
            raise _impossible(f"a list has {len(inside)} references, and {LIST_LIMIT} are the most")
        yield from _walked(inside, read_list, ref.level, seen)


def _impossible(what: str) -> Corrupt:
    return Corrupt(f"no write makes such a file: {what}", hint=_HINT)


def encode_list(refs: Iterable[BlockRef]) -> bytes:
    """A list of references as bytes; equal lists are equal bytes."""
    rows = [[*ref[:-1], ref.sha256.hex()] for ref in refs]
    return json.dumps(rows, separators=(",", ":")).encode()


def decode_list(content: bytes) -> list[BlockRef]:
    """Read a list of references."""
    try:
        return [_read_ref(row) for row in json.loads(content)]
    except (ValueError, TypeError, RecursionError) as error:
        raise Corrupt("a list of blocks can't be read", hint=_HINT) from error


def _read_ref(row: list[Any]) -> BlockRef:
    level, write, number, pack, start, size, sha256 = row
    numbers_are = all(type(value) is int for value in (level, number, start, size))
    texts_are = all(type(value) is str for value in (write, pack))
    if not (numbers_are and texts_are):
        raise TypeError("a reference has a number or a text of another type")
    return BlockRef(level, write, number, pack, start, size, bytes.fromhex(sha256))


def added_since(now: Sequence[BlockRef], then: Sequence[BlockRef]) -> list[BlockRef] | None:
    """The references added since an earlier version; None if some of its own are lost, so that all is new."""
    old = [r.key for r in then]
    kept = set(old)
    if [r.key for r in now if r.key in kept] != old:
        return None
    return [r for r in now if r.key not in kept]
