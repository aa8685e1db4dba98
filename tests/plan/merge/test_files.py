"""The matrix of files: what becomes of a path that both sides touched, each case run both ways."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

import anabranch as ab
from anabranch.model.files import BlockRef, FileRow
from anabranch.plan.merge.files import MergedFile, file_rules, merge_file, merge_in_order, merge_lines, rule_for

Text = dict[str, bytes]


def row(refs: str, when: int = 1, **told: Any) -> FileRow:
    """A file of writes: `p1 a2` is a put and an append; the hash of a block is its number."""
    blocks = tuple(
        BlockRef(0, w[0], int(w[1:].split("=")[0]), "o", 0, 3, w.rpartition("=")[2].encode()) for w in refs.split()
    )
    size = 3 * len(blocks)
    made = FileRow("", "f", size, None, None, datetime.fromtimestamp(when, UTC), None, None, blocks)
    return made._replace(**told)


def merged(base: FileRow | None, ours: FileRow | None, theirs: FileRow | None, rule: Any = "conflict") -> MergedFile:
    return merge_file(base, ours, theirs, rule, lambda r: "".join(f"{b.number}\n" for b in r.blocks).encode())


def told(found: MergedFile) -> str | None:
    if found.conflict:
        return f"conflict {found.conflict}"
    return " ".join(f"{r.write}{r.number}" for r in found.row.blocks) if found.row else None


BASE = "p1"
CASES = [
    # base, ours, theirs, ours ← theirs, theirs ← ours
    ("p1", "p1 a2", "p1 a3", "p1 a2 a3", "p1 a3 a2"),
    ("p1 a2", "p1 a2 a3 a4", "p1 a2 a5", "p1 a2 a3 a4 a5", "p1 a2 a5 a3 a4"),
    (None, "a1", "a2", "a1 a2", "a2 a1"),
    (None, "p1", "p2", "conflict create/create", "conflict create/create"),
    (None, "p1", "a2", "conflict create/create", "conflict create/create"),
    (None, "p1=x", "p2=x", "p1", "p2"),
    ("p1", "p2", "p3", "conflict replace/replace", "conflict replace/replace"),
    ("p1", "p2=x", "p3=x", "p2", "p3"),
    ("p1", "p2", "p1 a3", "conflict replace/append", "conflict append/replace"),
    ("p1", None, "p1 a2", "conflict delete/append", "conflict append/delete"),
    ("p1", None, "p2", "conflict delete/replace", "conflict replace/delete"),
    ("p1", None, None, None, None),
    # merged before: what theirs has already is not taken twice
    ("p1 a3", "p1 a2 a3", "p1 a3 a4", "p1 a2 a3 a4", "p1 a3 a4 a2"),
    # an append that one side undid
    ("p1 a2", "p1 a2 a3", "p1", "p1 a3", "p1 a3"),
]


@pytest.mark.parametrize(("base", "ours", "theirs", "forth", "back"), CASES)
def test_writes_of_two_sides_go_together_or_are_a_conflict(
    base: str | None, ours: str | None, theirs: str | None, forth: str | None, back: str | None
) -> None:
    sides = [None if side is None else row(side) for side in (base, ours, theirs)]
    assert told(merged(*sides)) == forth
    assert told(merged(sides[0], sides[2], sides[1])) == back


RULED = [
    ("ours", "p1", "p2", "p1 a3", "p2"),
    ("theirs", "p1", "p2", "p1 a3", "p1 a3"),
    ("concat", "p1", "p2", "p1 a3", "p2 a3"),
    ("concat", "p1", "p2", "p3", "p2 p3"),
    ("concat", "p1", None, "p1 a3", "a3"),
    ("concat", None, "p1", "p2", "p1 p2"),
    ("ours", "p1", None, "p1 a3", None),
    ("theirs", "p1", None, "p1 a3", "p1 a3"),
    ("theirs", "p1", "p1 a2", None, None),
    ("newest", "p1", None, "p1 a3", "conflict delete/append"),
]


@pytest.mark.parametrize(("rule", "base", "ours", "theirs", "result"), RULED)
def test_a_rule_decides_what_does_not_go_together(
    rule: str, base: str | None, ours: str | None, theirs: str | None, result: str | None
) -> None:
    assert told(merged(*(None if side is None else row(side) for side in (base, ours, theirs)), rule)) == result


@pytest.mark.parametrize("rule", ["conflict", "ours", "theirs", "newest"])
def test_a_file_that_came_back_as_it_was_does_not_stand_against_a_delete(rule: str) -> None:
    base, back = row("p1 a2", 1), row("a2 p1", 5)
    assert merged(base, back, None, rule) == merged(base, None, back, rule) == MergedFile(None)
    assert merge_file(base, back, None, "conflict", lambda _: b"", sure=False).conflict == "update/delete"
    assert merged(base, back._replace(mode=0o755), None).conflict == "update/delete"


def test_the_newest_is_the_one_that_was_written_later() -> None:
    old, new = row("p2", 5), row("p3", 6)
    assert merged(row("p1"), old, new, "newest").row == new
    assert merged(row("p1"), new, old, "newest").row == new


def test_sizes_are_those_of_the_references() -> None:
    found = merged(row("p1"), row("p1 a2"), row("p1 a3 a4")).row
    assert found is not None
    assert (found.size, found.sha256) == (12, None)


def test_what_is_said_of_a_file_is_merged_cell_by_cell() -> None:
    base, ours, theirs = row("p1", mode=0o644), row("p1", mode=0o755), row("p1", 9, mode=0o644, media_type="x/y")
    found = merged(base, ours, theirs).row
    assert found is not None
    assert (found.mode, found.media_type, found.written_at.timestamp()) == (0o755, "x/y", 9)
    clash = merged(base, ours, row("p1", mode=0o600))
    assert (clash.conflict, clash.column) == ("update/update", "mode")
    assert merged(base, ours, row("p1", mode=0o600), "theirs").row == row("p1", mode=0o600)
    appended = merged(base, ours, row("p1 a2", mode=0o644)).row
    assert appended is not None
    assert (appended.mode, appended.size) == (0o755, 6)
    assert merged(base, None, ours).conflict == "delete/update"


def test_where_the_base_is_not_known_what_both_have_counts_once() -> None:
    ours, theirs = row("p1 a2 a3 a5"), row("p1 a3 a2 a4")
    assert told(merge_file(None, ours, theirs, "conflict", lambda _: b"", sure=False)) == "p1 a2 a3 a5 a4"
    assert told(merge_file(None, row("p1"), row("p2"), "conflict", lambda _: b"", sure=False)) is not None


def test_lines_of_a_text_are_merged_and_the_same_lines_are_a_conflict() -> None:
    assert merge_lines(b"1\n2\n3\n", b"0\n1\n2\n3\n", b"1\n2\n3\n4\n") == b"0\n1\n2\n3\n4\n"
    assert merge_lines(b"1\n2\n3\n", b"1\nX\n3\n", b"1\nX\n3\n") == b"1\nX\n3\n"
    assert merge_lines(b"1\n2\n3\n", b"1\nX\n3\n", b"1\nY\n3\n") is None
    assert merge_lines(b"1\n2\n3\n", b"2\n3\n", b"1\n2\n") == b"2\n"
    assert merge_lines(b"\xff", b"a", b"b") is None
    found = merged(row("p1 p2"), row("p0 p1 p2")._replace(blocks=row("p10 p11").blocks), row("p20 p21"), "lines")
    assert found.conflict == "replace/replace"


def test_rules_are_given_by_pattern_and_the_one_that_says_most_counts() -> None:
    rules = file_rules({"files:*": "newest", "files:logs/**": "concat", "files:*.json": "lines", "orders": "theirs"})
    assert [rule_for(rules, p) for p in ("a", "logs/x.log", "a/b.json")] == ["newest", "concat", "lines"]
    assert rule_for(file_rules({"files:x": "ours"}), "y") == "conflict"
    with pytest.raises(ab.InvalidRequest, match="no rule for files"):
        file_rules({"files:*": "sum"})


@pytest.mark.parametrize(
    ("base", "ours", "sources", "expected"),
    [
        ("p1", "p1", ["p1 a2 a3", "p1 a4", "p1 a5"], "p1 a2 a3 a4 a5"),
        ("p1", "p1 a9", ["p1 a3", "p1", "p1 a2"], "p1 a9 a3 a2"),
        (None, None, ["a3", "a1", "a2"], "a3 a1 a2"),
        ("p1", "p1", [None, None], None),
        ("p1", "p1", ["p2=x", "p3=x", "p4=x"], "p2"),
        ("p1 a2", "p1 a2", ["p1", "p1 a2 a3"], "p1 a3"),
        ("p1", "p1", ["p1 a2", "p3", "p1 a4"], "conflict append/replace"),
        ("p1", "p1", ["p1 a2", None, "p1 a4"], "conflict append/delete"),
        (None, None, ["a1", "p2"], "conflict create/create"),
    ],
)
def test_sources_are_decided_in_their_order_up_to_one_that_does_not_go_together(
    base: str | None, ours: str | None, sources: list[str | None], expected: str | None
) -> None:
    old, mine, *others = (None if refs is None else row(refs) for refs in (base, ours, *sources))
    assert told(merge_in_order(old, mine, others, "conflict")) == expected


def test_what_only_contents_could_tell_is_left_in_conflict() -> None:
    found = merge_in_order(row("p1"), row("p1"), [row("p2"), row("p3")], "lines")
    assert told(found) == "conflict replace/replace"
    assert told(merge_in_order(row("p1"), row("p1"), [row("p2"), row("p3")], "theirs")) == "p3"
