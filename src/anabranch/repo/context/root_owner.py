"""Whether an object root is this catalogue's: a copy of the catalogue must not collect the original's objects.

The catalogue gives out random tokens, and keeps the last ten. A token is laid in the root before something is uploaded,
at most once a minute: first it is committed in the catalogue, then laid, then the older ones go, so that a process that
dies in between leaves only tokens that the catalogue knows. A copy of the catalogue lacks the tokens that were given
out since; and it is another file or database than the one that a note names. Nobody removes the token of somebody else,
so once two catalogues have written, both are refused until a person says that the other one is gone.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from anabranch.catalog import root_tokens
from anabranch.catalog.root_tokens import RootToken
from anabranch.catalog.store import Catalog, Connection, now
from anabranch.errors import InvalidRequest
from anabranch.model.root_notes import RootNote, read_note
from anabranch.model.store_folder import CATALOG
from anabranch.objects.root import ObjectRoot
from anabranch.settings import FIRST_TOKEN_SECONDS, TOKEN_SECONDS

_MICROS = 1_000_000


@dataclass
class RootOwner:
    """One catalogue as the owner of its object root."""

    catalog: Catalog
    root: ObjectRoot
    is_beside: bool
    """Whether the root is in the folder of the catalogue, and goes along when that is moved or copied."""
    fresh_seconds: float = TOKEN_SECONDS
    """For so long a token that was laid is good enough."""
    _due_at: float = 0.0
    """When this process lays a token again, by its own clock."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def renew(self) -> None:
        """Lay a token if a minute has passed; called before each upload.

        Inside a transaction of the catalogue nothing is laid: another one would wait for it.
        """
        if time.monotonic() < self._due_at or self.catalog.is_writing:
            return
        with self._lock:
            if time.monotonic() >= self._due_at:
                self._due_at = time.monotonic() + self._lay()

    def _lay(self) -> float:
        """Lay a token, and remove our older ones; returns the seconds until the next is due."""
        found = self._look()
        mine = [token for token in found.known if token.text in found.ours]
        late = found.ours.keys() - {token.text for token in mine}
        if mine and mine[0] == found.known[0] and found.newest_age < self.fresh_seconds:
            return self.fresh_seconds - found.newest_age
        self.root.remove_tokens([*late, *(token.text for token in mine[1:])])
        with self.catalog.apart(writes=True) as cx:
            token = root_tokens.newest(cx, found.others, found.ours, self.fresh_seconds * _MICROS)
            age = root_tokens.age_of(cx, token)
        self._put(token, found)
        with self.catalog.apart() as cx:
            given = root_tokens.read(cx) or ()
        if token not in given:  # this process slept for long, and others went on
            self.root.remove_tokens([token.text])
            return 0.0
        self.root.remove_tokens([old.text for old in mine[:1] if old != token])
        return max(0.0, self.fresh_seconds - age)

    def _put(self, token: RootToken, found: FoundTokens) -> None:
        first = [note.first_at for note in found.ours.values() if note.first_at is not None]
        if found.is_unknown and not self.is_beside:
            first = [token.made_at]
        note = RootNote(
            catalogue=found.identity, where=self.where, made_at=token.made_at, first_at=min(first, default=None)
        )
        self.root.put_token(token.text, note.encoded())

    def check(self) -> bool:
        """Refuse if another catalogue may have objects in the root.

        Returns whether files may be removed: no token was laid in stores made earlier, and then a copy of the catalogue
        has a day to lay its own.
        """
        found = self.check_tokens()
        beside = self._catalogue_beside()
        if beside is not None:
            raise self._refused([beside])
        if found.is_unknown:
            return self.is_beside
        first = [note.first_at for note in found.ours.values() if note.first_at is not None]
        return all(found.moment - at >= FIRST_TOKEN_SECONDS * _MICROS for at in first)

    def check_tokens(self) -> FoundTokens:
        """Refuse if the root has a token that this catalogue did not give out."""
        found = self._look()
        if found.others:
            raise self._refused(sorted({note.where for note in found.others.values()}))
        return found

    def is_alone(self) -> bool:
        """Whether no other catalogue laid a token in the root."""
        return not self._look().others

    def take_over(self) -> None:
        """Make the root this catalogue's alone: a person says that no other catalogue has objects there."""
        with self._lock:
            there = self._notes()
            with self.catalog.apart(writes=True) as cx:
                identity = self.catalog.identity(cx)
                token = root_tokens.add_one(cx)
            self.root.put_token(token.text, RootNote(identity, self.where, token.made_at).encoded())
            self.root.remove_tokens([text for text in there if text != token.text])

    def lay_first(self, cx: Connection) -> None:
        """Lay the token of a store that this transaction makes; one of an attempt that was killed goes."""
        (token,) = root_tokens.read(cx) or [root_tokens.add_one(cx)]
        self.root.remove_tokens(self.root.tokens())
        note = RootNote(self.catalog.identity(cx), self.where, token.made_at)
        self.root.put_token(token.text, note.encoded())

    def start_anew(self) -> None:
        """After a fork: a lock may be held by a thread that is only in the parent."""
        self._lock = threading.Lock()

    @property
    def where(self) -> str:
        """The place of the catalogue, as notes and messages show it."""
        return f"{self.catalog.shown} on {socket.gethostname()}" if self.catalog.is_in_folder else self.catalog.shown

    def _look(self) -> FoundTokens:
        """Look what is laid in the root, and then at what this catalogue gave out: that comes first."""
        there = self._notes()
        with self.catalog.apart() as cx:
            known = root_tokens.read(cx)
            identity = self.catalog.identity(cx)
            moment = now(cx)
            age = root_tokens.age_of(cx, known[0]) if known else 0.0
        ours = {text: note for text, note in there.items() if self._is_ours(text, note, known or (), identity)}
        return FoundTokens(
            known=tuple(known or ()),
            ours=ours,
            others={text: note for text, note in there.items() if text not in ours},
            is_unknown=known is None and not there,
            identity=identity,
            moment=moment,
            newest_age=age,
        )

    def _is_ours(self, text: str, note: RootNote, known: Sequence[RootToken], identity: str) -> bool:
        """Whether this catalogue gave a token out: it is one of the last, or one before those that it laid late.

        That takes a process that paused for minutes and was then killed. Younger ones than it knows are not its own: it
        was put back from an older copy.
        """
        if any(token.text == text for token in known):
            return self.is_beside or note.catalogue == identity
        is_older = len(known) == root_tokens.KEPT and 0 < note.made_at < known[-1].made_at
        return is_older and note.catalogue == identity

    def _notes(self) -> Mapping[str, RootNote]:
        return {text: read_note(content) for text, content in self.root.tokens().items()}

    def _catalogue_beside(self) -> str | None:
        """Another catalogue in whose own folder the root is; stores made earlier laid no token there."""
        if self.is_beside or self.root.is_far:
            return None
        beside = Path(self.root.where).resolve().parent / CATALOG
        is_own = self.catalog.is_in_folder and beside.exists() and beside.samefile(self.catalog.shown)
        return str(beside) if beside.is_file() and not is_own else None

    def _refused(self, others: Sequence[str]) -> InvalidRequest:
        root = self.root.where
        message = (
            f"the catalogue {self.where} may not remove objects from {root}: another catalogue uses that place, too, "
            f"or did before this one was copied, moved or restored: {' and '.join(others)}; nothing was removed"
        )
        hint = (
            "if both are in use, give one a place of its own (`ana backup PLACE`, then `ana restore-store PLACE STORE "
            "--objects PLACE`); if the other is gone for good, or is this one at another place: `ana gc --take-over`"
        )
        return InvalidRequest(message, hint=hint, catalogue=self.where, others=list(others), root=root)


@dataclass(frozen=True)
class FoundTokens:
    """The tokens laid in a root, as one catalogue judges them."""

    known: tuple[RootToken, ...]
    """The tokens that the catalogue gave out, newest first."""
    ours: Mapping[str, RootNote]
    others: Mapping[str, RootNote]
    is_unknown: bool
    """Whether the store is older than tokens are, and nobody has laid one since."""
    identity: str
    moment: int
    newest_age: float
