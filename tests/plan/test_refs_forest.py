"""References as a forest: small however often a file is appended to, and the same leaves always."""

from __future__ import annotations

import hashlib
import random

import pytest

import anabranch as ab
from anabranch.model.files import BlockRef
from anabranch.plan.refs_forest import (
    LIST_LIMIT,
    MAX_LEVEL,
    WIDTH,
    added_since,
    decode_list,
    encode_list,
    folded,
    leaves,
)


class Lists:
    """Keeps lists by their hash, as packs do."""

    def __init__(self) -> None:
        self.kept: dict[bytes, bytes] = {}
        self.end = 0

    def put(self, content: bytes, level: int) -> BlockRef:
        digest = hashlib.sha256(content).digest()
        self.kept[digest] = content
        start, self.end = self.end, self.end + len(content)
        return BlockRef(level, "l", len(self.kept), "o", start, len(content), digest)

    def read(self, ref: BlockRef) -> bytes:
        return self.kept[ref.sha256]


def ref(number: int) -> BlockRef:
    return BlockRef(0, "a1", number, "o", number, 1, bytes([number % 256]) * 32)


def test_a_thousand_appends_leave_few_references_and_few_lists() -> None:
    lists, refs = Lists(), ()
    for number in range(1600):
        refs = folded((*refs, ref(number)), lists.put)
        assert len(refs) <= 18
    assert len(lists.kept) == 400 + 100 + 25 + 6 + 1
    assert [r.number for r in leaves(refs, lists.read, 1600)] == list(range(1600))


def test_many_at_once_are_the_same_forest_as_one_after_another() -> None:
    lists = Lists()
    one_by_one: tuple[BlockRef, ...] = ()
    for number in range(700):
        one_by_one = folded((*one_by_one, ref(number)), lists.put)
    at_once = folded([ref(n) for n in range(700)], lists.put)
    assert [(r.level, r.sha256) for r in at_once][-3:] == [(r.level, r.sha256) for r in one_by_one][-3:]
    assert list(leaves(at_once, lists.read, 700)) == list(leaves(one_by_one, lists.read, 700))


def test_a_list_is_read_back_and_damage_is_told() -> None:
    refs = [ref(n) for n in range(WIDTH)]
    assert decode_list(encode_list(refs)) == refs
    for damaged in (b"", b"{}x", b"[[1]]", b'[["a",1,2,3,4,5,"zz"]]', b'[[0,["a"],2,"o",4,5,""]]', b"[" * 100_000):
        with pytest.raises(ab.Corrupt):
            decode_list(damaged)


def test_a_list_that_holds_itself_is_damage() -> None:
    lists = Lists()
    inner = lists.put(encode_list([ref(1)]), 1)
    outer = lists.put(encode_list([inner]), 1)
    with pytest.raises(ab.Corrupt, match="reference of level 1"):
        list(leaves([outer], lists.read, 1))


def test_a_list_that_is_in_a_file_twice_is_refused_before_its_leaves_are_made() -> None:
    lists = Lists()
    found = lists.put(encode_list([ref(n) for n in range(WIDTH)]), 1)
    for level in range(2, MAX_LEVEL):
        found = lists.put(encode_list([found] * WIDTH), level)
    with pytest.raises(ab.Corrupt, match="twice"):
        list(leaves([found], lists.read, 4**MAX_LEVEL))


def test_a_forest_that_is_too_deep_too_wide_or_too_large_is_refused() -> None:
    lists = Lists()
    wide = lists.put(encode_list([ref(n) for n in range(LIST_LIMIT + 1)]), 1)
    for refs, what in (
        ([wide], "17 references"),
        ([ref(0)._replace(level=MAX_LEVEL + 1)], "level 13"),
        ([ref(0)._replace(level=-1)], "level -1"),
        ([ref(0)._replace(size=-1), ref(1)], "-1 bytes"),
        ([ref(0)._replace(start=-1)], "level 0"),
        ([ref(n) for n in range(101)], "100 bytes"),
    ):
        with pytest.raises(ab.Corrupt, match=what):
            list(leaves(refs, lists.read, 100))


def test_what_came_since_is_told_and_a_replaced_file_is_new() -> None:
    refs = [ref(n) for n in range(6)]
    assert added_since(refs, refs[:4]) == refs[4:]
    assert added_since(refs, refs) == []
    assert added_since(refs[2:], refs[:4]) is None
    assert added_since([refs[0], refs[4], refs[1]], refs[:2]) == [refs[4]]
    shuffled = random.Random(1).sample(refs, 6)
    assert added_since(shuffled, refs) is None
