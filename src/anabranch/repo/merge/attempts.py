"""Publish while others write: retry on whatever head is current, then once more with the repository locked."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from anabranch.catalog.moves import HeadMoved
from anabranch.errors import OutcomeUnknown
from anabranch.model.content import Publication
from anabranch.model.objects import NewObject
from anabranch.repo.commit.commit import find_published
from anabranch.repo.context.context import Context
from anabranch.repo.merge.earlier_rows import EarlierRows

log = logging.getLogger("anabranch.repo.merge.attempts")

T = TypeVar("T")


@dataclass
class Attempts:
    """One verb's attempts at a branch that others move, too.

    Each attempt plans from the current head and knows what earlier ones merged, so only what moved is merged again.
    The last one holds the repository, so it succeeds however many quick writers there are.
    """

    ctx: Context
    tries: int = 3
    """Attempts alongside other writers, before the one that holds the repository."""
    rows: EarlierRows = field(default_factory=EarlierRows)
    publication: Publication | None = None
    """What the last attempt published, or tried to."""
    written: Sequence[NewObject] = ()
    """The objects written for that publication."""

    def run(self, attempt: Callable[[Attempts], T]) -> T:
        """Retry until no other writer gets in first."""
        try:
            done = self._run(attempt)
        except OutcomeUnknown:
            raise
        except BaseException:
            self.ctx.discard([*self.rows.made, *self.written])
            raise
        used = {o.stored.id for o in self.publication.content.objects} if self.publication else set()
        self.ctx.discard([o for o in self.rows.made if o.stored.id not in used])
        return done

    def give_up(self, made: Sequence[NewObject]) -> None:
        """Discard what an attempt wrote, except what later ones may reuse."""
        kept = {o.stored.id for o in self.rows.made}
        self.ctx.discard([o for o in made if o.stored.id not in kept])

    def _run(self, attempt: Callable[[Attempts], T]) -> T:
        for _ in range(self.tries):
            try:
                return attempt(self)
            except HeadMoved:
                log.debug("the branch moved: it is planned again, on the new head")
        return self._run_alone(attempt)

    def _run_alone(self, attempt: Callable[[Attempts], T]) -> T:
        done: list[T] = []
        try:
            with self.ctx.catalog.alone(self.ctx.record.id):
                done.append(attempt(self))
        except OutcomeUnknown as error:
            if self.publication is None or not done:
                raise
            find_published(self.ctx, self.publication, error)
        return done[0]
