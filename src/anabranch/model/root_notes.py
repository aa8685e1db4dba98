"""The notes that catalogues lay in an object root: a random token each, and which catalogue gave it out."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

TOKENS = "tokens"
"""Notes are below this name of an object root, which no object has."""
PREFIX = "t"
_TOKEN = re.compile(f"{PREFIX}[a-z2-7]{{16}}")


def is_token(text: str) -> bool:
    """Whether a text has the form of a token, which leads nowhere as part of a path."""
    return _TOKEN.fullmatch(text) is not None


@dataclass(frozen=True)
class RootNote:
    """A note: whoever has its token in the catalogue, and is the catalogue that it names, may remove objects."""

    catalogue: str
    """The identity of the catalogue, which a copy of it does not share."""
    where: str
    """The place of the catalogue, as messages show it."""
    made_at: int = 0
    """When the token was given out, by the catalogue's clock; 0 if that is not known."""
    first_at: int | None = None
    """When the first note was laid in a root that had objects already; None if it was empty then."""

    def encoded(self) -> bytes:
        """The note as it is stored."""
        return json.dumps(asdict(self), indent=2).encode()


def read_note(content: bytes) -> RootNote:
    """Read a note; of one that can't be read nothing is known, so it is nobody's."""
    try:
        found: Any = json.loads(content)
    except (ValueError, RecursionError):
        found = None
    said: Mapping[str, Any] = found if isinstance(found, dict) else {}
    catalogue, where = said.get("catalogue"), said.get("where")
    made_at, first_at = said.get("made_at"), said.get("first_at")
    return RootNote(
        catalogue=catalogue if isinstance(catalogue, str) else "",
        where=where if isinstance(where, str) else "a catalogue that did not say where it is",
        made_at=made_at if isinstance(made_at, int) else 0,
        first_at=first_at if isinstance(first_at, int) else None,
    )
