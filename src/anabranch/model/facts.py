"""The facts of commits: what users may give, and those that jobs, pipelines, streams and repairs write themselves."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

OWN_PREFIX = "ana:"
"""Begins the names of our own facts. The name of a user's fact cannot have a colon, and never could."""
USER_NAME = re.compile(r"[a-z][a-z0-9_.-]{0,63}")
DEEPEST = 50
"""How deep the lists and objects of a fact may be nested."""
LONGEST_NUMBER_BITS = 4096
"""Python refuses to write or to read longer numbers as text."""


class OwnFacts(dict[str, Any]):
    """Facts under our own names; other dicts that have such names are refused."""


@dataclass(frozen=True)
class OwnFact:
    """A fact that we write ourselves."""

    name: str
    earlier: str | None = None
    """Its name in stores that were written before our facts had a prefix: one that users can give, too."""
    parts: frozenset[str] = frozenset()
    """The keys of its value; a fact of the earlier name that lacks one of them is a user's."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names that it may have, the newest first."""
        return (self.name,) if self.earlier is None else (self.name, self.earlier)

    def facts(self, value: Mapping[str, Any]) -> OwnFacts:
        """The facts of a commit that says this value."""
        return OwnFacts({self.name: dict(value)})

    def value(self, facts: Mapping[str, Any]) -> dict[str, Any] | None:
        """The value that a commit's facts give it; None if they give none."""
        for name in self.names:
            if self.is_value(name, facts.get(name)):
                found: dict[str, Any] = facts[name]
                return found
        return None

    def is_value(self, name: str, value: Any) -> bool:
        """Tell whether a fact of one of these names is ours."""
        return isinstance(value, dict) and (name == self.name or self.parts <= value.keys())


JOB = OwnFact("ana:job", "job", frozenset(("name", "key", "code", "inputs")))
"""What a job's commit was made from."""
PIPELINE = OwnFact("ana:pipeline", "pipeline", frozenset(("name", "datasets", "inputs")))
"""What a run of a pipeline computed, and from what."""
STREAM = OwnFact("ana:stream", "stream", frozenset(("query", "batch")))
"""The micro-batch of a stream that a commit holds."""
SPARK_WRITE = OwnFact("ana:spark_write", "spark_write", frozenset(("id",)))
"""The write of a Spark data source that a commit holds."""
REPAIR = OwnFact("ana:repair")
"""The commits whose versioned files a commit puts right."""
OWN = {fact.name: fact for fact in (JOB, PIPELINE, STREAM, SPARK_WRITE, REPAIR)}
