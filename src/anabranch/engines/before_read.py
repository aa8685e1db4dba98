"""What is done before an engine reads files; whoever opens a repository says what."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

BeforeRead = Callable[[Sequence[str]], None]
"""Looks at files by their addresses, and raises Corrupt if one is damaged."""


def look_at_none(_: Sequence[str]) -> None:
    """Let files be read as they are."""


AtHand = Callable[[Sequence[str]], AbstractContextManager[Mapping[str, str]]]
"""Has files on this machine as long as a block lasts; gives where they lie, if that is not where addresses say."""


def where_they_are(_: Sequence[str]) -> AbstractContextManager[Mapping[str, str]]:
    """Let files be read where their addresses say, as they are."""
    return nullcontext({})
