"""The tokens by which a catalogue shows that an object root is its own: a copy of the catalogue lacks younger ones."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from anabranch.catalog.later import Connection, sa, t
from anabranch.catalog.store import now
from anabranch.model.ids import new_id
from anabranch.model.root_notes import PREFIX, is_token

FACT = "root_tokens"
KEPT = 10
"""So many tokens are kept, the newest first."""


@dataclass(frozen=True)
class RootToken:
    """A token that this catalogue gave out, or is about to."""

    text: str
    made_at: int
    """Microseconds since 1970, by the catalogue's clock."""


def read(cx: Connection) -> list[RootToken] | None:
    """Read the tokens, newest first; None if the store is older than tokens are."""
    fact = t.store.c
    value = cx.execute(sa.select(fact.value).where(fact.key == FACT)).scalar()
    return None if value is None else read_tokens(value)


def read_tokens(value: str) -> list[RootToken]:
    """Read the fact's text; what is no token in it counts for nothing."""
    try:
        found: Any = json.loads(value)
    except (ValueError, RecursionError):
        return []
    if not isinstance(found, list):
        return []
    return [RootToken(*entry) for entry in found if _is_token(entry)][:KEPT]


def _is_token(entry: Any) -> bool:
    if not isinstance(entry, list) or len(entry) != 2:
        return False
    text, made_at = entry
    return isinstance(text, str) and isinstance(made_at, int) and is_token(text)


def fact_of(tokens: Sequence[RootToken]) -> str:
    """The fact's text for some tokens, newest first."""
    return json.dumps([[token.text, token.made_at] for token in tokens[:KEPT]])


def newest(cx: Connection, others: Collection[str], ours: Collection[str], fresh_micros: float) -> RootToken:
    """Return the token to lay in the root, where ours and those of others are laid.

    It is the newest if that is young, or is not laid yet: if every process that died before it laid its own had added
    one more, those that are laid would fall off the list. Two processes at once get the same. Else one more is added.
    """
    _lock(cx)
    known = read(cx)
    moment = now(cx)
    if known and known[0].text not in others:
        is_laid = known[0].text in ours
        if not is_laid or 0 <= moment - known[0].made_at < fresh_micros:
            return known[0]
    return add(cx, known, moment)


def add_one(cx: Connection) -> RootToken:
    """Add a token."""
    _lock(cx)
    return add(cx, read(cx), now(cx))


def add(cx: Connection, known: Sequence[RootToken] | None, moment: int) -> RootToken:
    """Add a token to those that are known."""
    token = RootToken(new_id(PREFIX), moment)
    value = fact_of([token, *(known or [])])
    if known is None:
        cx.execute(t.store.insert(), {"key": FACT, "value": value})
    else:
        cx.execute(sa.update(t.store).where(t.store.c.key == FACT).values(value=value))
    return token


def _lock(cx: Connection) -> None:
    """Let one at a time add tokens. PostgreSQL has a row to lock even where there are none; SQLite has one writer."""
    fact = t.store.c
    cx.execute(sa.select(fact.value).where(fact.key == "store_id").with_for_update())


def age_of(cx: Connection, token: RootToken) -> float:
    """The seconds since a token was made; one from the future, by a clock that was wrong, is old."""
    age = (now(cx) - token.made_at) / 1_000_000
    return age if age >= 0 else float("inf")
