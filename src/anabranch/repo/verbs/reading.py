"""The verbs that read: tables, files, SQL, and files that users bring."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any

from anabranch.errors import InvalidRequest
from anabranch.model.tables import TableEntry
from anabranch.repo.branches.listing import list_namespaces, list_tables_at, namespace_properties
from anabranch.repo.branches.log import show
from anabranch.repo.verbs.opened import OpenedRepository
from anabranch.settings import SafeSettings

if TYPE_CHECKING:
    from anabranch.formats.read import FileRows
    from anabranch.repo.files.folder import LocalFolder
    from anabranch.repo.files.tree import FileTree
    from anabranch.repo.read.object_list import ObjectList
    from anabranch.repo.read.sql_result import SqlResult
    from anabranch.repo.read.table import Table
    from anabranch.repo.sql.sql import SqlSession


class ReadVerbs(OpenedRepository):
    """Tables, files and SQL at a commit."""

    def one_state(self) -> AbstractContextManager[None]:
        """Open a block in which all reads see one moment, whoever commits meanwhile, until the block itself writes."""
        return self._ctx.catalog.one_state()

    def table(
        self,
        name: str,
        at: str | None = None,
        *,
        columns: Iterable[str] | str | None = None,
        where: str | None = None,
        args: Mapping[str, Any] | None = None,
        limit: int | None = None,
    ) -> Table:
        """Open a table at a ref."""
        from anabranch.repo.read.table import make_selection, open_table

        return open_table(self._ctx, name, at, make_selection(columns, where, args, limit))

    def folder(self, place: str | PathLike[str]) -> LocalFolder:
        """A local folder to check files out into, compare, and take files in from."""
        from anabranch.repo.commit.held import find_held
        from anabranch.repo.files.folder import LocalFolder

        return LocalFolder(place, partial(find_held, self._ctx))

    def checkout(self, place: str | PathLike[str], at: str | None = None, *, force: bool = False) -> int:
        """Write all files of a commit into a local folder; local changes are overwritten only with `force`."""
        ref = show(self._ctx, at).hash
        return self.folder(place).checkout(self.files(ref), ref, force=force)

    def files(self, at: str | None = None) -> FileTree:
        """Open the versioned files at a ref."""
        from anabranch.repo.files.tree import open_tree

        return open_tree(self._ctx, at)

    def objects(self, at: str | None = None, *, table: str | None = None) -> ObjectList:
        """List the objects that a commit is read from, all or those of one table, to `download()` or `evict()` them."""
        from anabranch.repo.read.object_list import list_objects

        return list_objects(self._ctx, at, table)

    def sql(
        self,
        text: str,
        at: str | None = None,
        *,
        on: str | None = None,
        args: Mapping[str, Any] | None = None,
        message: str | None = None,
        author: str | None = None,
        safe: bool | SafeSettings = False,
        **frames: Any,
    ) -> SqlResult:
        """Run SQL: queries read at `at`; writes become a commit on `on`, or are staged if there is a COMMIT.

        Statements about versions, such as CREATE BRANCH or USE BRANCH, part a script: the writes before and after
        them are commits of their own, and a failure takes back only its own part.
        `{name}` in the text stands for a frame given by name, `:name` for a value in `args`.
        With `safe`, the text may be a stranger's: one query of tables and given frames, computed in a process of its
        own within the limits of `SafeSettings` (docs/strangers.md).
        """
        if safe is not False:
            return self._run_safe(text, at, on, args, message, author, safe, frames)
        from anabranch.repo.sql.sql import run_script

        return run_script(self._ctx, text, at, on, args, message, author, frames)

    def _run_safe(
        self,
        text: str,
        at: str | None,
        on: str | None,
        args: Mapping[str, Any] | None,
        message: str | None,
        author: str | None,
        safe: Any,
        frames: Mapping[str, Any],
    ) -> SqlResult:
        from anabranch.repo.sql.safe import run_safe

        limits = self._ctx.settings.safe if safe is True else safe
        if not isinstance(limits, SafeSettings):
            raise InvalidRequest(f"safe= is {type(safe).__name__}, True or ab.SafeSettings(…) was expected")
        if on is not None or message is not None or author is not None:
            raise InvalidRequest("with safe=, SQL only reads", hint="leave on=, message= and author= out")
        return run_safe(self._ctx, text, at, args or {}, frames, limits)

    def sql_session(self, branch: str | None = None, *, staging: bool = True, author: str | None = None) -> SqlSession:
        """Start a session that runs statements one after another; `USE BRANCH` lasts, and writes are staged."""
        from anabranch.repo.sql.sql import SqlSession

        return SqlSession(self._ctx, branch, staging=staging, author=author)

    def tables(self, at: str | None = None, namespace: str | None = None) -> list[TableEntry]:
        """List tables at a ref, with their sizes."""
        return list_tables_at(self._ctx, at, namespace)

    def namespaces(self, at: str | None = None) -> list[str]:
        """List namespaces at a ref."""
        return list_namespaces(self._ctx, at)

    def namespace_properties(self, name: str, at: str | None = None) -> dict[str, str]:
        """Read the properties of a namespace at a ref."""
        return namespace_properties(self._ctx, name, at)

    def read_files(
        self,
        paths: str | Sequence[str],
        *,
        format: str | None = None,
        schema: Any = None,
        bad_rows: str | None = None,
        equal_columns: bool = False,
        needed: Sequence[str] = (),
        rename: Mapping[str, str] | None = None,
        key: str | Sequence[str] | None = None,
        progress: Callable[[str], None] = lambda _: None,
        **options: Any,
    ) -> FileRows:
        """Read files, folders or patterns to insert their `.rows`; options are those of `TextOptions`.

        `rename={"Delta 15 N (o/oo)": "d15n"}` renames columns of the files; `schema` uses the new names.
        With `bad_rows=`, rows whose `key` is null or repeated are set aside, too.
        """
        from anabranch.formats.read import read_files
        from anabranch.formats.rules.request import make_request
        from anabranch.frames.input import key_names

        names = key_names(key)
        request = make_request(paths, format, schema, bad_rows, equal_columns, needed, rename or {}, names, options)
        return read_files(self._ctx.engines, request, progress)
