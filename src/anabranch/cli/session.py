"""One run of the command line: the options, the store, the repository and the current branch."""

from __future__ import annotations

import gc
import logging
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.cli import remembered as state
from anabranch.cli.output.text import clean, emit_json, looks, show_lines
from anabranch.cli.preferences import preferred
from anabranch.errors import AlreadyExists, AnabranchError, InvalidRequest, NotFound, Unavailable
from anabranch.model.addresses import masked, read_address
from anabranch.model.refs import with_head
from anabranch.model.store_folder import FOLDER
from anabranch.settings import FileSettings, Settings

if TYPE_CHECKING:
    from anabranch import Repository
    from anabranch.cli.progress import Progress, Tasks
    from anabranch.repo.commit.open_commit import OpenCommit
    from anabranch.repo.merge.open_conflicts import OpenConflicts


_TIME = re.compile(r"@\{([^}]+)\}")


def translate(text: str | None, branch: str) -> str:
    """Replace HEAD, `@` and a missing ref by the current branch, in both ends of a range; localize times."""
    if text is None:
        return branch
    if not text:
        return text  # No ref: what takes it refuses it.
    return _TIME.sub(lambda found: f"@{{{with_zone(found[1])}}}", with_head(text, branch))


def with_zone(text: str) -> str:
    """Give a time without a zone the local one; anything that is no time passes unchanged."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return text
    if text.strip().isdigit() or moment.tzinfo:
        return text
    return moment.astimezone().isoformat()


_OPTIONS = {
    "parent=1": "--parent 1",
    "three_way=True": "--three-way",
    "recursive=True": "--recursive",
    "use force=True": "use --force",
    "rules=": "rules (--rule TABLE.COLUMN=RULE)",
    "ff='only'": "--ff-only",
    "cherry_pick": "`ana cherry-pick`",
    "repo.diff(…)": "`ana diff`",
    "give it in args=": "--arg NAME=VALUE",
    "or force it": "or delete it with -D",
    "finish()": "`ana merge --continue`",
    "abort()": "`ana merge --abort`",
    "leave at= out; on= names the branch that moves": "`ana switch` to the branch first, or USE BRANCH; without --at",
}
"""Python's names in hints, and what the command line calls them."""


@dataclass
class Choices:
    """The global options."""

    store: str | None = None
    repository: str | None = None
    engine: str | None = None
    json: bool = False
    debug: bool = False
    store_by_habit: bool = False
    """Whether the store comes from ANABRANCH_STORE, which anything typed overrides."""


@dataclass
class Session:
    """What every command gets: the options, the store and the repository."""

    choices: Choices = field(default_factory=Choices)
    exit_code: int = 0

    @property
    def json(self) -> bool:
        return self.choices.json

    @cached_property
    def place(self) -> state.StorePlace:
        """Where the store is. Finding it also sets the looks preferred there."""
        found = state.find(self.choices.store, _here())
        chosen = preferred(found.state.preferences)
        looks.colour, looks.pager = chosen["colour"] or "auto", chosen["pager"] or None
        return found

    @property
    def store(self) -> str:
        """The location of the store. A server that only a folder names is refused, unless this user trusts it."""
        if self.place.named_by_folder:
            from anabranch.repo.context.trusted import check_trusted, servers_of

            check_trusted(servers_of(read_address(self.place.store)), str(self.folder / FOLDER / state.FILE))
        return self.place.store

    @cached_property
    def preferences(self) -> dict[str, str]:
        """What `ana config` chose, for this folder or for the user; empty text where nobody chose."""
        return preferred(self.place.state.preferences)

    @property
    def author(self) -> str | None:
        """The author of commits, if one was chosen."""
        return self.preferences["author"] or None

    @cached_property
    def repo(self) -> Repository:
        """The repository, opened when first needed."""
        import anabranch

        name = self.choices.repository or self.place.state.repository
        engine = self.choices.engine or self.preferences["engine"]
        settings = Settings(files=FileSettings(url_allow=tuple(self.preferences["url_allow"].split())))
        return anabranch.open(self.store, repository=name, engine=engine, author=self.author, settings=settings)

    @cached_property
    def branch(self) -> str:
        """The current branch."""
        return self.place.state.branches.get(self.repo.name) or self.repo.default_branch

    def branch_or_current(self, name: str | None) -> str:
        """The branch that was named; the current branch if none was."""
        return self.branch if name is None else name

    def ref(self, text: str | None) -> str:
        """A ref as the repository takes it; the current branch if None."""
        return translate(text, self.branch)

    def working_set(self, branch: str | None = None) -> OpenCommit | None:
        """What is staged on a branch; None if there is nothing."""
        found = self.repo.working_set(self.branch_or_current(branch))
        return found if found and found.status() else None

    def all_open(self, branch: str) -> list[OpenConflicts]:
        """What is open on a branch: merges, cherry-picks, reverts and rebases."""
        return [*self.repo.open_merges(branch), *self.repo.open_sequences(branch)]

    def open_work(self, branch: str, verb: str | None = None) -> OpenConflicts:
        """Find what is open on a branch, the newest if several; if a verb is given, it must be of that verb."""
        found = self.all_open(branch)
        if not found:
            what, places = verb or "merge", {"merge": "SOURCE", "rebase": "ONTO"}
            hint = f"`ana {what} {places.get(what, 'COMMIT')}` keeps one open if there are conflicts; see `ana status`"
            raise NotFound(f"no {what} is open on {branch!r}", hint=hint)
        if verb not in (None, found[-1].verb):
            hint = f"`ana {found[-1].verb} --continue` goes on with it, `ana {found[-1].verb} --abort` gives it up"
            raise InvalidRequest(f"no {verb} is open on {branch!r}, but a {found[-1].verb}", hint=hint)
        return found[-1]

    def refuse_open(self, branch: str) -> None:
        """Refuse to begin while something is open."""
        for waiting in self.all_open(branch):
            hint = f"`ana {waiting.verb} --continue` goes on with it, `ana {waiting.verb} --abort` gives it up"
            raise InvalidRequest(f"a {waiting.verb} of {', '.join(waiting.sources)} is open on {branch!r}", hint=hint)

    @property
    def folder(self) -> Path:
        """The folder that remembers the current branch."""
        if self.place.folder is None:
            hint = f"run `ana init {read_address(self.place.store).kept}` in a folder, and work there"
            raise InvalidRequest("no folder remembers the current branch of this store", hint=hint)
        return self.place.folder

    def switch_to(self, branch: str, left: str | None = None) -> None:
        """Remember the current branch, and the one that was left."""
        state.save(self.folder, self.place.state.on_branch(self.repo.name, branch, left))

    def progress(self, phase: str, repo: Repository | None = None) -> AbstractContextManager[Progress]:
        """Show the progress of long work, on a terminal."""
        return self._progress(phase, (repo or self.repo).progress)

    def progress_of_store(self, phase: str) -> AbstractContextManager[Progress]:
        """The same for work on a whole store, which opens no repository."""
        return self._progress(phase, lambda: None)

    def _progress(self, phase: str, tasks: Tasks) -> AbstractContextManager[Progress]:
        from anabranch.cli.progress import show_progress

        gc.enable()
        visible = sys.stderr.isatty() and not self.choices.debug
        return show_progress(phase, tasks, visible=visible)

    def tell(self, document: dict[str, Any], *said: str | Iterable[str]) -> None:
        """Print what came of a command: the document with --json, else a line or lines of text."""
        if self.told(document):
            return
        for part in said:
            show_lines([part] if isinstance(part, str) else part)

    def told(self, document: dict[str, Any]) -> bool:
        """Print the document with --json; tell whether that was done."""
        if self.json:
            emit_json(document)
        return self.json

    def hint_for(self, error: AnabranchError) -> str | None:
        """The error's own hint in terms of the command line; another, if the current branch itself is gone."""
        named = (error.facts.get("branch"), error.facts.get("ref"))
        if isinstance(error, NotFound) and "branch" in self.__dict__ and self.branch in named:
            return "it was the current branch; go to another with `ana switch`"
        hint = self._staged_hint(error) or self._table_hint(error) or error.hint
        for said, option in _OPTIONS.items():
            hint = hint.replace(said, option) if hint else None
        return hint

    def _staged_hint(self, error: AnabranchError) -> str | None:
        """What is staged under, or near, the name of a table: of one that a commit lacks, or that is there already."""
        is_there = isinstance(error, AlreadyExists) and "table" in error.facts
        if not (is_there or "near" in error.facts) or "repo" not in self.__dict__:
            return None
        from anabranch.repo.commit.draft_listing import state_of

        with suppress(AnabranchError):
            staged, name = self.working_set(), error.facts["table"]
            status = staged.status() if staged else {}
            made = [n for n, what in status.items() if (what["kind"], state_of(what)) == ("table", "created")]
            if is_there:
                return f"{error.hint}; `ana restore {name}` gives up what is staged" if name in made else None
            if name in made:
                return f"it is staged only, on {self.branch}: `ana commit` publishes it"
            near = get_close_matches(name, made, n=1)
            if near and not error.facts["near"]:
                return f"did you mean {near[0]!r}? It is staged only, on {self.branch}: `ana commit` publishes it"
        return None

    def _table_hint(self, error: AnabranchError) -> str | None:
        """What shows a table that was named where a ref was expected: `orders`, or `main:orders` as in git."""
        ref, _, name = str(error.facts.get("ref") or "").rpartition(":")
        if not isinstance(error, NotFound) or not name or "repo" not in self.__dict__:
            return None
        with suppress(AnabranchError):
            if any(table.name == name for table in self.repo.tables(self.ref(ref or None))):
                at = f" --at {ref}" if ref else ""
                more = "" if ref else f", `ana log -- {name}` its commits"
                return f"it is a table: `ana table show {name}{at}` shows its rows{more}"
        return None

    @contextmanager
    def logged(self) -> Iterator[None]:
        """Show the debug log if asked for, and close the repository at the end."""
        looks.colour, looks.pager = "auto", None
        handler = logging.StreamHandler()
        handler.setFormatter(_Masking("debug: %(name)s: %(message)s"))
        handler.addFilter(lambda _record: self.choices.debug)
        logger = logging.getLogger("anabranch")
        starts = logging.StreamHandler()
        starts.setFormatter(_Masking("%(message)s"))
        starts.setLevel(logging.INFO)
        starts.addFilter(lambda record: record.name == "anabranch.engines" and not self.choices.debug)
        level = logger.level
        logger.addHandler(handler)
        logger.addHandler(starts)
        logger.setLevel(logging.DEBUG)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.removeHandler(starts)
            logger.setLevel(level)
            self._close()

    def _close(self) -> None:
        opened: Any = self.__dict__.get("repo")
        if opened is not None:
            opened.close()


class _Masking(logging.Formatter):
    """Formats log lines without secrets, and without characters that act on a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        return clean(masked(super().format(record)), keep="\n")


def _here() -> Path:
    """The folder that the command runs in."""
    try:
        return Path.cwd()
    except OSError as error:
        message = f"the current folder can't be found: {error.strerror}"
        raise Unavailable(message, hint="go to one that is there") from error
