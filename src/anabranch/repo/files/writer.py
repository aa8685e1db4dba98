"""Files inside a commit: put, append, delete, copy, move. Small writes are gathered into one statement."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from anabranch.errors import AlreadyExists, InvalidRequest
from anabranch.model.changes import Counts
from anabranch.model.files import FileRow
from anabranch.model.ids import ObjectId, ThingId
from anabranch.model.local_paths import check_local
from anabranch.model.objects import StoredObject
from anabranch.model.paths import check_folder, check_path, is_below, join_path, split_path
from anabranch.model.tables import TableState
from anabranch.objects.chunks import MIN_BYTES, Chunking, check_chunking
from anabranch.plan.commit import Statement
from anabranch.repo.context.context import Context
from anabranch.repo.files.block_writer import BlockWriter
from anabranch.repo.files.blocks import BlockReader
from anabranch.repo.files.local import local_files, reading_local
from anabranch.repo.files.small_puts import SmallPuts
from anabranch.repo.files.statement import FileChange, files_statement
from anabranch.repo.files.tree import FileTree

Content = bytes | bytearray | memoryview | str | os.PathLike[str] | BinaryIO
_GATHERED = 100_000
"""Changes kept in memory before they become a statement."""
SMALL_BYTES = MIN_BYTES // 4
"""Files up to this size are one block, without looking for a cut."""


class FilesDraft(Protocol):
    """What a writer of files needs of its transaction."""

    def files_thing(self) -> ThingId: ...
    def state_of(self, thing: ThingId) -> TableState: ...
    def pending(self) -> Mapping[ObjectId, bytes]: ...
    def packs(self) -> Mapping[ObjectId, StoredObject]: ...
    def add(self, thing: ThingId, statement: Statement) -> Counts: ...


class FilesWriter(FileTree):
    """The files of an unfinished commit: reads all that a tree does, and changes it."""

    def __init__(self, ctx: Context, draft: FilesDraft, find: Callable[[str], FileTree], *, at_once: bool) -> None:
        self._draft, self._at_once = draft, at_once
        self._blocks_out = BlockWriter(ctx)
        self._changes: dict[str, FileChange] = {}
        self._refused: BaseException | None = None
        """Why changes that were gathered together are lost."""
        self._small = SmallPuts(self._blocks_out.put_write, self._blocks_out.place_small)
        super().__init__(ctx, self._flushed_state, self._reader(), find, draft.pending())

    def _reader(self) -> BlockReader:
        return BlockReader(self._blocks_out.ctx, self._draft.packs(), self._draft.pending(), self._blocks_out.packs)

    def _flushed_state(self) -> TableState:
        self.flush()
        return self._written_state()

    def _written_state(self) -> TableState:
        return self._draft.state_of(self._draft.files_thing())

    # --- writing ---

    def put(
        self,
        path: str,
        content: Content,
        *,
        mode: int | None = None,
        media_type: str | None = None,
        properties: Mapping[str, str] | None = None,
        chunking: Chunking | None = None,
    ) -> None:
        """Write a whole file, replacing an existing one: bytes, text, a stream, or a local file by Path."""
        path = _new_path(path)
        if media_type is None and properties is None and chunking is None:
            small = content.encode() if isinstance(content, str) and len(content) <= SMALL_BYTES else content
            if isinstance(small, bytes) and len(small) <= SMALL_BYTES:
                self._put_small(path, small, check_mode(mode))
                return
        if chunking is not None:
            check_chunking(chunking)
        described, bits = properties_text(properties), check_mode(mode)
        with _opened(content) as stream:
            old = self._before(path) if _is_large(content) else ()
            refs, digest = self._blocks_out.write(stream, "p", split_path(path)[1], chunking, old)
        if mode is None and isinstance(content, os.PathLike):
            bits = os.stat(content).st_mode & 0o777
        self._change(path, FileChange(True, refs, digest, now(), bits, media_type, described))

    def append(self, path: str, content: Content) -> None:
        """Append to a file; makes it if it doesn't exist."""
        path = _new_path(path)
        with _opened(content) as stream:
            refs, _ = self._blocks_out.write(stream, "a", split_path(path)[1], None)
        self._change(path, FileChange(False, refs, None, now()))

    @property
    def writes(self) -> frozenset[str]:
        """The writes that files of this commit carry: of puts, and of appends."""
        return self._blocks_out.writes

    def append_anew(self, path: str, content: Content) -> None:
        """Make a file of one append, whatever was there; a file that has these bytes already stays as it is."""
        path = check_path(path)
        with _opened(content) as stream:
            refs, digest = self._blocks_out.write(stream, "a", split_path(path)[1], None)
        self._change(path, FileChange(True, refs, digest, now()))

    def remove_all(self, paths: Iterable[str]) -> None:
        """Delete files, as far as they are there."""
        for path in paths:
            self._change(path, GONE)

    def restore(self, row: FileRow) -> None:
        """Give a file the blocks and attributes of an earlier version."""
        said = (row.mode, row.media_type, row.properties)
        self._change(row.path, FileChange(True, row.blocks, row.sha256, row.written_at, *said, size=row.size))

    def put_all(
        self, folder: str, source: str | os.PathLike[str], *, progress: Callable[[int], None] | None = None
    ) -> int:
        """Put local files below a folder: those that match a pattern, or all of a local folder; returns how many.

        `progress` is called after each file with the number of files so far.
        """
        target, count = check_folder(folder), 0
        for relative, place in local_files(source):
            path = _new_path(join_path(target, relative))
            with reading_local(place) as stream:
                mode = os.fstat(stream.fileno()).st_mode & 0o777
                head = stream.read(SMALL_BYTES + 1)
                if len(head) > SMALL_BYTES:
                    stream.seek(0)
                    refs, digest = self._blocks_out.write(stream, "p", place.name, None)
            if len(head) <= SMALL_BYTES:
                self._put_small(path, head, mode)
            else:
                self._change(path, FileChange(True, refs, digest, now(), mode=mode))
            count += 1
            if progress is not None:
                progress(count)
        return count

    def fetch(self, path: str, url: str) -> None:
        """Put the content of a URL; its scheme and host must be in `FileSettings.url_allow`, which is empty by default.

        Redirects are checked again; private addresses and more than `url_limit_bytes` are refused.
        """
        from anabranch.repo.files.fetched import fetching

        path = _new_path(path)
        with fetching(url, self._ctx.settings) as found:
            self.put(path, found.stream, media_type=found.media_type)  # type: ignore[arg-type]

    def write(self, frame: Any, *, append: bool = False) -> int:
        """Write the rows of a frame: columns `path` and `content`, or `path` and `line`; optionally `mode`.

        Rows of one path are joined in one file, new or, with `append`, continued; returns the number of files.
        """
        from anabranch.repo.files.frame_content import pieces_of

        begun: set[str] = set()
        for path, content, mode in pieces_of(frame):
            if append or path in begun:
                self.append(path, content)
            else:
                self.put(path, content, mode=mode)
            begun.add(path)
        return len(begun)

    @contextmanager
    def open(self, path: str, mode: str = "rb", since: str | None = None) -> Iterator[BinaryIO]:  # type: ignore[override]
        """Open a file to read (`rb`), replace (`wb`) or append (`ab`); stored when the block ends without error."""
        from tempfile import SpooledTemporaryFile

        if mode not in ("rb", "wb", "ab"):
            raise InvalidRequest(f"mode {mode!r} is unknown", hint="choose rb, wb or ab")
        if mode == "rb":
            with super().open(path, since) as file:
                yield file
            return
        with SpooledTemporaryFile(16 * 1024 * 1024) as spool:
            yield spool  # type: ignore[misc]
            spool.seek(0)
            (self.put if mode == "wb" else self.append)(path, spool)  # type: ignore[arg-type]

    def delete(self, path: str, *, recursive: bool = False) -> int:
        """Delete a file, or with `recursive` a folder and all in it; returns the number of files deleted."""
        folder = check_folder(path)
        row = self._get(folder) if folder and not path.endswith("/") else None
        if row is not None:
            self._change(row.path, GONE)
            return 1
        found = self.rows_below(folder)
        if not found:
            raise self._missing(folder or "/")
        if not recursive:
            hint = "recursive=True deletes it with all of them"
            raise InvalidRequest(f"{path!r} is a folder with {len(found)} files in it", hint=hint, path=path)
        for row in found:
            self._change(row.address, GONE)
        return len([row for row in found if row.name])

    def copy(self, source: str, target: str) -> int:
        """Copy a file, or a folder with all in it; writes no bytes. Returns how many files."""
        pairs = list(self._pairs(source, target))
        for row, path in pairs:
            self._change(path, FileChange(True, row.blocks, row.sha256, now(), *_described(row), size=row.size))
        self._flush_if_due()
        return len([row for row, _ in pairs if row.name])

    def move(self, source: str, target: str) -> int:
        """Move a file or folder to another path; files keep their writes. Returns how many moved."""
        pairs = list(self._pairs(source, target))
        for row, path in pairs:
            kept = FileChange(True, row.blocks, row.sha256, row.written_at, *_described(row), size=row.size)
            self._change(row.address, GONE)
            self._change(path, kept)
        return len([row for row, _ in pairs if row.name])

    def make_folder(self, path: str) -> None:
        """Make an empty folder."""
        folder = _new_path(path.removesuffix("/"))
        if self._get(folder) is not None:
            raise AlreadyExists(f"{folder!r} is a file", hint="choose another name, or delete it first", path=folder)
        self._change(f"{folder}/", FileChange(True, (), None, now()))

    def _pairs(self, source: str, target: str) -> Iterable[tuple[FileRow, str]]:
        """The rows at or below a path, each with its new path below another."""
        old, new = check_folder(source), _new_path(target.removesuffix("/"))
        row = self._get(old) if old else None
        if row is not None:
            path = _new_path(join_path(new, row.name)) if target.endswith("/") else new
            if path != old:
                yield row, path
            return
        if new == old or is_below(new, old):
            raise InvalidRequest(f"{source!r} can't go into itself ({target!r})", hint="choose another place")
        found = self.rows_below(old)
        if not found:
            raise self._missing(old or "/")
        for row in found:
            inside = join_path(row.parent, row.name).removeprefix(old).lstrip("/")
            yield row, _new_path(join_path(new, inside)) + ("" if row.name else "/")

    # --- gathering ---

    def _put_small(self, path: str, content: bytes, mode: int | None) -> None:
        if self._changes:
            self._changes.pop(path, None)
        self._small.put(path, content, mode)
        if self._at_once or len(self._small) >= _GATHERED:
            self.flush()

    def _change(self, path: str, change: FileChange) -> None:
        before = self._changes.get(path) or self._small.change(path)
        self._changes[path] = change if before is None or change.fresh else before.followed_by(change)
        self._flush_if_due()

    def _flush_if_due(self) -> None:
        if self._at_once or len(self._changes) >= _GATHERED:
            self.flush()

    def flush(self) -> None:
        """Make one statement of the gathered changes."""
        if self._refused is not None:
            hint = "nothing of this commit is published; `with tx.all_or_nothing():` keeps what was put before it"
            raise InvalidRequest(f"files were refused, and others with them: {self._refused}", hint=hint)
        if not self._changes and not self._small:
            return
        changes, small = self._changes, self._small
        self._changes, self._small = {}, small.emptied()
        tree = FileTree(self._ctx, self._written_state, self._reader(), self._find, self._draft.pending())
        try:
            statement = files_statement(self._ctx, tree, changes, self._blocks_out, small)
            self._draft.add(self._draft.files_thing(), statement)
        except BaseException as error:
            self.forget()
            self._refused = error if len(changes) + len(small) > 1 else None
            raise
        self._blocks = self._reader()

    def forget(self) -> None:
        """Drop the gathered changes, and packs that nothing refers to."""
        self._changes, self._small, self._refused = {}, self._small.emptied(), None
        self._blocks_out.forget()

    def _before(self, path: str) -> tuple[Any, ...]:
        """The blocks of a file's last version, to share."""
        row = self._get(path)
        return self._blocks.leaves(row) if row else ()


def _new_path(path: str) -> str:
    """The path of a file that is to be written, in its stored form."""
    return check_local(check_path(path))


GONE = FileChange(True, None, None, datetime.fromtimestamp(0, UTC))
"""The change that deletes a file."""


def _described(row: FileRow) -> tuple[int | None, str | None, str | None]:
    return row.mode, row.media_type, row.properties


def now() -> datetime:
    """The time of a write."""
    return datetime.now(UTC)


def check_mode(mode: int | None) -> int | None:
    """Refuse anything but permission bits."""
    if mode is not None and not 0 <= mode <= 0o777:
        raise InvalidRequest(f"mode={mode!r} are no permission bits", hint="give a number such as 0o644")
    return mode


def properties_text(properties: Mapping[str, str] | None) -> str | None:
    """Properties as stored."""
    if not properties:
        return None
    if not all(isinstance(text, str) for pair in properties.items() for text in pair):
        raise InvalidRequest("properties of a file are texts by name", hint="give a dict of str to str")
    return json.dumps(dict(sorted(properties.items())), ensure_ascii=False)


def _is_large(content: Content) -> bool:
    """Whether it is worth looking for blocks shared with the last version."""
    return not isinstance(content, (bytes, bytearray, memoryview, str)) or len(content) > 64 * 1024


@contextmanager
def _opened(content: Content) -> Iterator[BinaryIO]:
    if isinstance(content, str):
        yield io.BytesIO(content.encode())
    elif isinstance(content, (bytes, bytearray, memoryview)):
        yield io.BytesIO(bytes(content))
    elif isinstance(content, os.PathLike):
        with reading_local(Path(content)) as stream:
            yield stream
    elif hasattr(content, "read"):
        yield content
    else:
        hint = "give bytes, text, an open binary file, or a Path"
        raise InvalidRequest(f"a file can't be made of {type(content).__name__}", hint=hint)
