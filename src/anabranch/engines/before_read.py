"""What is done before an engine reads files; whoever opens a repository says what."""

from __future__ import annotations

from collections.abc import Callable, Sequence

BeforeRead = Callable[[Sequence[str]], None]
"""Looks at files by their addresses, and raises Corrupt if one is damaged."""


def look_at_none(_: Sequence[str]) -> None:
    """Let files be read as they are."""
