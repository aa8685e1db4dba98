"""Merge the files of two branches: whole rows, whose content is compared by the writes that references carry.

Base, ours and theirs have references to bytes only, with lists expanded. What is not decided is a conflict."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal, get_args

from anabranch.errors import InvalidRequest
from anabranch.model.files import BlockRef, FileRow
from anabranch.model.paths import pattern_of

FileRule = Literal["conflict", "ours", "theirs", "newest", "concat", "lines", "follow"]
MOVED = "moved to "
FILE_FOLDER = "file/folder"
"""The kind of a conflict where a file of one side is a folder on the other."""
PREFIX = "files:"
"""The prefix of a rule for files; a pattern follows."""
_DESCRIPTION = ("mode", "media_type", "properties")


@dataclass(frozen=True)
class MergedFile:
    """What a merge makes of one path."""

    row: FileRow | None
    """None if the file is gone after the merge. In a conflict, the row of ours."""
    conflict: str | None = None
    """What ours did, a slash, what theirs did."""
    column: str | None = None
    """What both changed differently, if not the content."""
    content: bytes | None = None
    """The new content, if it is not stored yet."""
    moved_to: str | None = None
    """The path that the side without a file here moved it to."""

    @property
    def moved(self) -> str | None:
        """The move as text in the kind of a conflict."""
        return self.moved_to and f"{MOVED}{self.moved_to}"


Read = Callable[[FileRow], bytes]


def merge_file(
    base: FileRow | None, ours: FileRow | None, theirs: FileRow | None, rule: FileRule, read: Read, *, sure: bool = True
) -> MergedFile:
    """Merge one path that both sides touched. Without `sure`, the base's content is unknown (a criss-cross)."""
    if not sure:
        base = _common(ours, theirs)
    elif (ours is None or theirs is None) and _is_unchanged(base, ours or theirs):
        return MergedFile(None)
    if ours is None or theirs is None:
        return _with_one(base, ours, theirs, rule)
    refs = _united_refs(base, ours, theirs)
    if refs is None:
        return _ruled(base, ours, theirs, rule, read)
    return _described(base, ours, theirs, ours._replace(blocks=refs), rule)


def merge_brought(ours: FileRow, theirs: FileRow, rule: FileRule, read: Read) -> MergedFile:
    """Merge two new files, one of which was moved or copied there, so that neither is appended to the other."""
    if _are_equal(ours, theirs):
        return merge_file(None, ours, theirs, rule, read)
    return _ruled(None, ours, theirs, rule, read)


def merge_parts(base: FileRow | None, ours: FileRow | None, theirs: FileRow | None) -> MergedFile | None:
    """Merge a file of which theirs owns parts that it appended: the base's are cut, and theirs' follow.

    None if theirs is not made of appended parts alone, or ours has lost the base's: then it is merged as a whole.
    """
    if not all(_is_appended(row) for row in (base, theirs) if row is not None):
        return None
    old, new = (row.blocks if row else () for row in (base, theirs))
    mine = ours.blocks if ours else ()
    if not {r.key for r in old}.issubset(r.key for r in mine):
        return None
    if ours is None:
        return MergedFile(theirs)
    cut = {r.key for r in old} - {r.key for r in new}
    known = {r.key for r in mine}
    refs = (*(r for r in mine if r.key not in cut), *(r for r in new if r.key not in known))
    if not refs:
        return MergedFile(None)
    written_at = max(ours.written_at, theirs.written_at) if theirs else ours.written_at
    merged = ours._replace(blocks=refs, written_at=written_at, sha256=None if refs != mine else ours.sha256)
    return MergedFile(_sized(merged))


def _is_appended(row: FileRow) -> bool:
    return bool(row.name) and all(ref.write.startswith("a") for ref in row.blocks)


def merge_in_order(
    base: FileRow | None, ours: FileRow | None, sources: Iterable[FileRow | None], rule: FileRule
) -> MergedFile:
    """Decide about one path that several sources touched, one after another, up to one that does not go together.

    Contents are not read: what only they could tell is left in conflict.
    """
    word: FileRule = "conflict" if rule == "lines" else rule
    done = MergedFile(ours)
    for theirs in sources:
        if done.row == base:
            done = MergedFile(theirs)
        elif theirs not in (base, done.row):
            done = merge_file(base, done.row, theirs, word, lambda _: b"")
        if done.conflict is not None:
            break
    return done


def _common(ours: FileRow | None, theirs: FileRow | None) -> FileRow | None:
    """What both sides share, taken as the base where that is unknown."""
    if ours is None or theirs is None:
        return ours or theirs
    known = {r.key for r in theirs.blocks}
    kept = tuple(r for r in ours.blocks if r.key in known)
    return ours._replace(blocks=kept) if kept else None


# --- one side has no file ---


def _with_one(base: FileRow | None, ours: FileRow | None, theirs: FileRow | None, rule: FileRule) -> MergedFile:
    """Merge a file that one side deleted and the other changed; if both deleted it, nothing is left."""
    there = ours or theirs
    if there is None or base is None:
        return MergedFile(there)
    did = _did(base, there)
    if rule in ("ours", "theirs"):
        return MergedFile(ours if rule == "ours" else theirs)
    if rule == "concat":
        known = {r.key for r in base.blocks}
        new = tuple(r for r in there.blocks if r.key not in known)
        return MergedFile(_sized(there._replace(blocks=new)) if new else None)
    return MergedFile(ours, f"delete/{did}" if ours is None else f"{did}/delete")


def _is_unchanged(base: FileRow | None, row: FileRow | None) -> bool:
    """Whether a side has the base's writes and description, however they came back to it."""
    if base is None or row is None:
        return base is row
    return _did(base, row) == "update" and all(getattr(base, name) == getattr(row, name) for name in _DESCRIPTION)


def _did(base: FileRow | None, row: FileRow) -> str:
    """What a side did to a file since the base."""
    if base is None:
        return "create"
    if {r.key for r in base.blocks} == {r.key for r in row.blocks}:
        return "update"
    return "replace" if _replaces(base, row) else "append"


# --- both have it ---


def _united_refs(base: FileRow | None, ours: FileRow, theirs: FileRow) -> tuple[BlockRef, ...] | None:
    """The references of both sides, if their writes can be combined; None if one replaced what the other wrote to."""
    if _are_equal(ours, theirs):
        return ours.blocks
    if base is None:
        began = all(row.blocks and row.blocks[0].write.startswith("a") for row in (ours, theirs))
        return _joined((), ours.blocks, theirs.blocks) if began else None
    changed = [row for row in (ours, theirs) if _did(base, row) != "update"]
    if len(changed) < 2:
        return changed[0].blocks if changed else ours.blocks
    if any(_replaces(base, row) for row in (ours, theirs)):
        return None
    return _joined(base.blocks, ours.blocks, theirs.blocks)


def _are_equal(ours: FileRow, theirs: FileRow) -> bool:
    if ours.digest is not None and ours.digest == theirs.digest:
        return True
    mine, other = ([(r.sha256, r.size) for r in row.blocks if r.size] for row in (ours, theirs))
    return mine == other


def _replaces(base: FileRow, row: FileRow) -> bool:
    """Whether nothing is left of the base's writes; a row that lost only some undid an append."""
    return {r.key for r in base.blocks}.isdisjoint(r.key for r in row.blocks)


def _joined(base: Sequence[BlockRef], ours: Sequence[BlockRef], theirs: Sequence[BlockRef]) -> tuple[BlockRef, ...]:
    """Ours without what theirs removed, then what only theirs added."""
    old, mine, other = ({r.key for r in refs} for refs in (base, ours, theirs))
    kept = [r for r in ours if r.key not in old or r.key in other]
    return (*kept, *(r for r in theirs if r.key not in old and r.key not in mine))


def _ruled(base: FileRow | None, ours: FileRow, theirs: FileRow, rule: FileRule, read: Read) -> MergedFile:
    """Merge contents that can't be combined by the rule, or report a conflict."""
    if rule == "ours":
        return MergedFile(ours)
    if rule == "theirs":
        return MergedFile(theirs)
    if rule == "newest" and ours.written_at != theirs.written_at:
        return MergedFile(max(ours, theirs, key=lambda row: row.written_at))
    if rule == "concat":
        refs = (*ours.blocks, *_only(theirs.blocks, ours.blocks, base.blocks if base else ()))
        return MergedFile(_sized(ours._replace(blocks=refs, written_at=max(ours.written_at, theirs.written_at))))
    if rule == "lines":
        merged = merge_lines(read(base) if base else b"", read(ours), read(theirs))
        if merged is not None:
            return MergedFile(ours._replace(written_at=max(ours.written_at, theirs.written_at)), content=merged)
    return MergedFile(ours, f"{_did(base, ours)}/{_did(base, theirs)}")


def _only(refs: Sequence[BlockRef], *others: Sequence[BlockRef]) -> list[BlockRef]:
    known = {r.key for other in others for r in other}
    return [r for r in refs if r.key not in known]


def _described(base: FileRow | None, ours: FileRow, theirs: FileRow, merged: FileRow, rule: FileRule) -> MergedFile:
    """Merge a file's metadata: each cell from the side that changed it."""
    described: dict[str, Any] = {"written_at": max(ours.written_at, theirs.written_at)}
    for column in _DESCRIPTION:
        before, mine, other = (getattr(row, column) if row else None for row in (base, ours, theirs))
        if mine != other and other != before:
            if mine != before and rule not in ("ours", "theirs", "newest"):
                return MergedFile(ours, "update/update", column)
            is_theirs = mine == before or rule == "theirs" or (rule == "newest" and theirs.written_at > ours.written_at)
            described[column] = other if is_theirs else mine
    return MergedFile(_sized(merged._replace(sha256=_known_hash(merged, ours, theirs), **described)))


def _known_hash(row: FileRow, *sides: FileRow) -> bytes | None:
    """The hash from a side with the same references, if any."""
    return next((side.sha256 for side in sides if side.blocks == row.blocks), None)


def _sized(row: FileRow) -> FileRow:
    """The row with the size of its references; if that changes it, the hash becomes unknown."""
    size = sum(r.size for r in row.blocks)
    return row if size == row.size else row._replace(size=size, sha256=None)


# --- rules by pattern ---


def file_rules(rules: Mapping[str, str]) -> dict[str, FileRule]:
    """The rules for files among those of a merge, by pattern; unknown words are refused."""
    found: dict[str, FileRule] = {}
    for name, word in rules.items():
        if name.startswith(PREFIX):
            if word not in get_args(FileRule):
                hint = f"choose {', '.join(get_args(FileRule))}"
                raise InvalidRequest(f"rules={{{name!r}: {word!r}}} is no rule for files", hint=hint)
            pattern_of(name.removeprefix(PREFIX), anywhere=True)
            found[name.removeprefix(PREFIX)] = word  # type: ignore[assignment]
    return found


def rule_for(rules: Mapping[str, FileRule], path: str) -> FileRule:
    """The rule for a path: that of the most specific pattern that matches it."""
    met = [pattern for pattern in rules if pattern_of(pattern, anywhere=True).fullmatch(path)]
    return rules[max(met, key=lambda pattern: sum(c not in "*?[]" for c in pattern))] if met else "conflict"


def properties_of(row: FileRow) -> dict[str, str]:
    """The properties of a file, by name."""
    found: dict[str, str] = json.loads(row.properties) if row.properties else {}
    return found


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
