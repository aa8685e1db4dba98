"""References of a file as a forest: four neighbours of a level become one list, so that many appends stay small."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence

from anabranch.errors import Corrupt
from anabranch.model.files import BlockRef

WIDTH = 4
MAX_LEVEL = 12
"""Deeper than any file that was ever written; a list that claims more is malicious."""


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


def leaves(refs: Iterable[BlockRef], read_list: Callable[[BlockRef], bytes]) -> Iterator[BlockRef]:
    """Yield the references to bytes at the leaves, in order."""
    for ref in refs:
        if ref.level == 0:
            yield ref
        else:
            inside = decode_list(read_list(ref))
            if ref.level > MAX_LEVEL or any(r.level >= ref.level for r in inside):
                raise Corrupt("a list of blocks holds itself", hint="run `ana verify --deep`")
            yield from leaves(inside, read_list)


def encode_list(refs: Iterable[BlockRef]) -> bytes:
    """A list of references as bytes; equal lists are equal bytes."""
    rows = [[*ref[:-1], ref.sha256.hex()] for ref in refs]
    return json.dumps(rows, separators=(",", ":")).encode()


def decode_list(content: bytes) -> list[BlockRef]:
    """Read a list of references."""
    try:
        return [BlockRef._make((*row[:-1], bytes.fromhex(row[-1]))) for row in json.loads(content)]
    except (ValueError, TypeError, IndexError) as error:
        raise Corrupt("a list of blocks can't be read", hint="run `ana verify --deep`") from error


def added_since(now: Sequence[BlockRef], then: Sequence[BlockRef]) -> list[BlockRef] | None:
    """The references added since an earlier version; None if some of its own are lost, so that all is new."""
    old = [r.key for r in then]
    kept = set(old)
    if [r.key for r in now if r.key in kept] != old:
        return None
    return [r for r in now if r.key not in kept]
