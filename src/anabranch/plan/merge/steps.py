"""Steps of a cherry-pick, revert or rebase: what is to be done and what was made, and their stored form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from anabranch.errors import InvalidRequest

WORDS = {"p": "pick", "r": "reword", "s": "squash", "f": "fixup", "d": "drop"}
"""The words of an interactive rebase, by their first letters."""
TOGETHER = ("squash", "fixup")
"""The words that put a commit together with the one before."""
_KEPT = re.compile(r"(?P<commit>[0-9a-f]{64}) (?P<word>[a-z]+)(?:\^(?P<parent>[0-9]+))?(?: (?P<text>.*))?", re.S)
_FORM = 'give (word, commit) or ("reword", commit, message), such as ("squash", "dev~1")'


@dataclass(frozen=True)
class TodoStep:
    """One commit, and what to do with it."""

    word: str
    """pick, reword, squash, fixup, revert, or carry: put a commit that was made already on a branch that moved.

    `staged` carries the commit of staged work, which nothing else shows.
    """
    commit: str
    parent: int | None = None
    """For a merge commit: the parent that it is compared with."""
    message: str | None = None

    @property
    def kept(self) -> str:
        """The step in its stored form."""
        parent = "" if self.parent is None else f"^{self.parent}"
        return f"{self.commit} {self.word}{parent}" + ("" if self.message is None else f" {self.message}")


@dataclass(frozen=True)
class Steps:
    """The progress of several steps; the branch moves only when all of them are done."""

    head: str
    """The commit that the branch shows before it moves."""
    onto: str
    """The commit that the first step is put on."""
    onto_ref: str
    made: tuple[str, ...] = ()
    """The commits made so far, oldest first."""
    todo: tuple[TodoStep, ...] = ()
    alone: tuple[tuple[str, str], ...] = ()
    """Commits that were to be put together with one that made nothing, each with that one."""

    @property
    def top(self) -> str:
        """The commit that the next step is put on."""
        return self.made[-1] if self.made else self.onto

    @property
    def kept(self) -> tuple[str, ...]:
        """The stored form: texts that begin with a commit's hash."""
        made = [f"{commit} made" for commit in self.made]
        made += [f"{commit} alone {before}" for commit, before in self.alone]
        return (f"{self.head} head", f"{self.onto} onto {self.onto_ref}", *made, *(step.kept for step in self.todo))

    def done(self, made: Sequence[str]) -> Steps:
        """The progress after the next step, with all commits made so far."""
        return replace(self, made=tuple(made), todo=self.todo[1:])

    def left_out(self) -> Steps:
        """The progress after a step that makes nothing.

        What was to be put together with it becomes a commit of its own: it does not slip into one that was not meant.
        """
        gone, rest = self.todo[0], self.todo[1:]
        if gone.word in TOGETHER or not rest or rest[0].word not in TOGETHER:
            return self.done(self.made)
        known = [pair for pair in self.alone if pair[0] != gone.commit]
        todo = (replace(rest[0], word="pick"), *rest[1:])
        return replace(self, todo=todo, alone=(*known, (rest[0].commit, gone.commit)))


def read_steps(kept: Iterable[str]) -> Steps:
    """Read what `Steps.kept` wrote."""
    described = [found for text in kept if (found := _KEPT.fullmatch(text))]
    ends = {found["word"]: found for found in described if found["word"] in ("head", "onto")}
    made = tuple(found["commit"] for found in described if found["word"] == "made")
    todo = tuple(
        TodoStep(f["word"], f["commit"], int(f["parent"]) if f["parent"] else None, f["text"])
        for f in described
        if f["word"] not in ("head", "onto", "made", "alone")
    )
    alone = tuple((f["commit"], f["text"]) for f in described if f["word"] == "alone")
    return Steps(ends["head"]["commit"], ends["onto"]["commit"], ends["onto"]["text"] or "", made, todo, alone)


def asked_steps(given: Iterable[Any]) -> list[TodoStep]:
    """Parse the steps given to a rebase, with refs for commits; dropped ones are left out."""
    steps = [step for number, one in enumerate(given, 1) if (step := _asked(number, one)).word != "drop"]
    if steps and steps[0].word in TOGETHER:
        message = f"the first step is {steps[0].word}, but there is nothing to put it together with"
        raise InvalidRequest(message, hint="begin with pick or reword")
    return steps


def _asked(number: int, given: Any) -> TodoStep:
    parts = tuple(given) if isinstance(given, tuple | list) else ()
    if len(parts) not in (2, 3):
        raise InvalidRequest(f"step {number} is {given!r}", hint=_FORM)
    word, commit, message = (*parts, None)[:3]
    word = WORDS.get(str(word), str(word))
    if word not in WORDS.values():
        raise InvalidRequest(f"step {number} says {word!r}", hint=f"say {', '.join(WORDS.values())}")
    if (word == "reword") != (message is not None) and word != "squash":
        problem = "reword needs a message" if word == "reword" else f"{word} takes no message"
        raise InvalidRequest(f"step {number}: {problem}", hint=_FORM)
    return TodoStep(word, str(commit), None, message)
