"""Commits that were made, and what they touched, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anabranch.cli.output.text import clean, number, short, subject
from anabranch.documents.records import counts_document

if TYPE_CHECKING:
    from anabranch import Commit, Counts
    from anabranch.repo.branches.provenance import ProvenanceEntry


_ROW_WORDS = {"inserted": "inserted", "updated": "updated", "deleted": "deleted"}
_FILE_WORDS = {"inserted": "added", "updated": "changed", "deleted": "removed"}
_OF_ROWS = ("insert", "upsert", "update", "delete", "overwrite")
_WORDS = {
    "create": "no rows yet",
    "alter column": "columns changed",
    "alter name": "renamed",
    "alter key": "key changed",
}


def counts_text(counts: Counts | dict[str, Any]) -> str:
    """Describe how many rows or files were touched; if none, what else was done, or that nothing was."""
    found = counts if isinstance(counts, dict) else counts_document(counts)
    words = _FILE_WORDS if found.get("kind") == "files" else _ROW_WORDS
    parts = [f"{number(found[kind])} {word}" for kind, word in words.items() if found[kind]]
    operations = counts.get("operations", ()) if isinstance(counts, dict) else ()
    others = [_WORDS.get(word, word) for word in dict.fromkeys(operations) if word not in _OF_ROWS]
    about = "about " if parts and not found.get("exact", True) else ""
    return about + ", ".join(parts or others) or "no change"


def commit_line(branch: str, commit: Commit) -> str:
    """A commit just made, as git prints it."""
    return f"[{clean(branch)} {short(commit.hash)}] {subject(commit.message)}"


def origin_text(entry: ProvenanceEntry) -> str:
    """`inputs@3f2a91abcd (orders)`: a commit that another was made from, and its role there."""
    return clean(f"{entry} ({entry.role})" if entry.role else str(entry))
