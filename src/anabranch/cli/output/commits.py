"""Commits that were made, and the rows that they touched, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anabranch.cli.output.text import clean, number, short, subject
from anabranch.documents.records import counts_document

if TYPE_CHECKING:
    from anabranch import Commit, Counts


def counts_text(counts: Counts | dict[str, Any]) -> str:
    """Touched rows in words; the kinds that did not happen are left out."""
    found = counts if isinstance(counts, dict) else counts_document(counts)
    parts = [f"{number(found[kind])} {kind}" for kind in ("inserted", "updated", "deleted") if found[kind]]
    return ", ".join(parts) or "no rows"


def commit_line(branch: str, commit: Commit) -> str:
    """A commit that was just made, as git says it."""
    return f"[{clean(branch)} {short(commit.hash)}] {subject(commit.message)}"
