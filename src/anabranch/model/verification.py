"""What verify finds: damages, each with what it affects and what to do, and how much was checked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from anabranch.errors import Corrupt

DamageKind = Literal[
    "store",
    "repository",
    "branch",
    "tag",
    "line",
    "commit",
    "table",
    "schema",
    "view",
    "object",
    "open commit",
    "open merge",
]
RESTORE_CATALOG = "restore the catalogue from a backup; every commit that verify does not name is as it was written"
LOST_DIGITS = "the number is gone unless you have it elsewhere; because of it, the commit's hash can't be compared"
RESTORE_FILE = "restore the file from a backup; other tables are not affected"
DROP_VIEW = "a view is a cache: what it shows wrongly is right without it; restore the catalogue from a backup"


@dataclass(frozen=True)
class Affected:
    """What a damage makes unreadable or doubtful, as far as it is known."""

    repository: str | None = None
    branches: tuple[str, ...] = ()
    """The branches whose history holds the commit."""
    commit: str | None = None
    """The start of its hash, or its line and index if it has none."""
    table: str | None = None
    """Its name where it was damaged, or its id."""
    object: str | None = None

    @property
    def parts(self) -> dict[str, str]:
        """The parts that are known, by name."""
        described = {"repository": self.repository, "branches": ", ".join(self.branches), "commit": self.commit}
        return {k: v for k, v in {**described, "table": self.table, "object": self.object}.items() if v}


@dataclass(frozen=True)
class Damage:
    """Something that is not as it was written, or that contradicts the rest."""

    kind: DamageKind
    where: str
    """The row or the file."""
    what: str
    """What was expected there, and what was found."""
    affects: Affected = Affected()
    hint: str = RESTORE_CATALOG

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass(frozen=True)
class KnownFault(Damage):
    """Something that an earlier version wrote wrongly, which stays in the history and does no harm any more."""


@dataclass(frozen=True)
class Verification:
    """What was checked, and all damages that were found."""

    damages: tuple[Damage, ...] = ()
    objects: int = 0
    size_bytes: int = 0
    """The size of all objects."""
    rows: dict[str, int] = field(default_factory=dict)
    """How many rows of each table of the catalogue were checked."""
    tables: int = 0
    """Tables of heads that were found readable."""
    deep: bool = False
    known: tuple[KnownFault, ...] = ()
    """What earlier versions wrote wrongly: nothing is lost by it, and nothing needs to be done."""

    @property
    def is_sound(self) -> bool:
        return not self.damages

    def with_more(self, more: Iterable[Damage]) -> Verification:
        """The same, with more damages and known faults."""
        found = list(more)
        faults = [x for x in found if isinstance(x, KnownFault)]
        damages = [x for x in found if not isinstance(x, KnownFault)]
        return replace(
            self,
            damages=tuple(dict.fromkeys((*self.damages, *damages))),
            known=tuple(dict.fromkeys((*self.known, *faults))),
        )

    def deepened(self, more: Iterable[Damage]) -> Verification:
        """The same, with the damages found by reading all rows."""
        return replace(self.with_more(more), deep=True)

    def raise_damages(self) -> Verification:
        """Raise Corrupt if anything is damaged, naming the first; returns itself otherwise."""
        if self.damages:
            first, more = self.damages[0], len(self.damages) - 1
            described = f" (and {more} more)" if more else ""
            raise Corrupt(f"{first}{described}", hint=first.hint, damages=self.damages)
        return self
