"""Files as rows: read by Spark's executors from the objects, or in the process for Arrow; and files in place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import accumulate, groupby
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal, get_args

import pyarrow as pa

from anabranch.engines import file_reading
from anabranch.engines.file_reading import FileStretches, Stretch
from anabranch.errors import InvalidRequest
from anabranch.model.files import BlockRef, FileRow, FileStat
from anabranch.objects.chunks import WHOLE_BYTES, is_packed
from anabranch.objects.packs import SUFFIX as PACK_SUFFIX
from anabranch.queries.query import Rows, reading_of
from anabranch.repo.context.context import Context
from anabranch.repo.files.blocks import BlockReader
from anabranch.repo.files.text_lines import LINES_HINT, is_zipped

if TYPE_CHECKING:
    from anabranch.engines.spark import DataFrame, SparkEngine

Part = tuple[FileRow, tuple[BlockRef, ...]]
"""A file, and some of its blocks, in order."""
FileForm = Literal["content", "lines", "blocks", "stat"]
_TASK_BYTES, _TASK_FILES = 32 * 1024 * 1024, 10_000
_SENT_BYTES = 32 * 1024 * 1024
"""Bytes in the catalogue are sent to executors up to this size; the rest is put where they can read it."""
_LF, _BOM = b"\n", b"\xef\xbb\xbf"
_FORMS = {"content": file_reading.CONTENT, "lines": file_reading.LINES, "blocks": file_reading.BLOCKS}
_STAT = pa.schema(
    [
        ("path", pa.string()),
        ("size", pa.int64()),
        ("sha256", pa.string()),
        ("mode", pa.int32()),
        ("written_at", pa.timestamp("us", "UTC")),
        ("media_type", pa.string()),
    ]
)


def check_form(form: str) -> None:
    """Refuse an unknown form."""
    if form not in get_args(FileForm):
        raise InvalidRequest(f"as_={form!r} is unknown", hint=f"choose {', '.join(get_args(FileForm))}")


def stat_table(found: Sequence[FileStat]) -> pa.Table:
    """The properties of files, as rows."""
    columns = {f.name: pa.array([getattr(s, f.name) for s in found], f.type) for f in _STAT}
    return pa.table(columns, schema=_STAT)


class FileFrames:
    """The selected files, as rows of one form."""

    def __init__(self, ctx: Context, blocks: BlockReader, rows: Sequence[FileRow]) -> None:
        self._ctx, self._blocks, self._rows = ctx, blocks, rows
        self._sent = 0
        self._addresses: dict[str, str] = {}

    def arrow(self, form: str) -> pa.Table:
        """Read all files in the process."""
        return self._read(self._all_parts(), form)

    def spark(self, form: str) -> DataFrame:
        """Read the files as a DataFrame; runs nothing yet."""
        from anabranch.engines.spark_files import files_frame, text_frames

        engine = self._ctx.engines.spark()
        whole, parts = self._texts(engine) if form == "lines" else ({}, self._all_parts())
        tasks = self._tasks(parts, form)
        places = [file for task in tasks for described in task for file, *_ in described[-1] if file]
        if places:
            engine.look(places[0])
        frames = text_frames(engine.session, engine.text, whole) if whole else []
        if any("://" in place for place in places):  # executors have no keys to a bucket, so send the rows
            frames.append(_as_frame(self._ctx, self._read(parts, form)))
        elif tasks or not whole:
            frames.append(files_frame(engine.session, [file_reading.packed(task) for task in tasks], form))
        return reduce(lambda one, other: one.unionAll(other), frames)

    def places(self) -> list[str]:
        """An address for each file: of its object, if that is the file, else of a copy that lives until exit."""
        return [self._whole_at(row) or self._copied(row) for row in self._rows]

    def _read(self, parts: Sequence[Part], form: str) -> pa.Table:
        described = [(row.path, 0, 0, row.mode, refs) for row, refs in parts]
        found = file_reading.read_task(described, form, lambda path, ref: self._blocks.read(ref, path))  # type: ignore[arg-type]
        try:
            return pa.Table.from_batches(found, file_reading.arrow_schema(_FORMS[form]))
        except file_reading.NoLines as error:
            raise InvalidRequest(str(error), hint=LINES_HINT) from error

    def _all_parts(self) -> list[Part]:
        return [(row, self._leaves(row)) for row in self._rows]

    # --- texts that are objects of their own ---

    def _texts(self, engine: SparkEngine) -> tuple[dict[str, list[str]], list[Part]]:
        """The paths of objects that Spark splits and reads itself, and what our code has to read.

        Objects that nobody compared with what was written are not left to Spark, unless their format tells of damage.
        """
        whole, parts = self._split(lambda _: True)
        if whole:
            engine.look(next(iter(whole)))
        if not engine.before_read([place for place in whole if not is_packed(place)]):
            return self._split(is_packed)
        return whole, parts

    def _split(self, may_take: Callable[[str], bool]) -> tuple[dict[str, list[str]], list[Part]]:
        whole: dict[str, list[str]] = {}
        parts: list[Part] = []
        for row in self._rows:
            for place, refs in self._runs(row):
                if place and may_take(place):
                    whole.setdefault(place, []).append(row.path)
                elif parts and parts[-1][0] is row:
                    parts[-1] = (row, (*parts[-1][1], *refs))
                else:
                    parts.append((row, refs))
        return whole, parts

    def _runs(self, row: FileRow) -> Iterator[tuple[str, tuple[BlockRef, ...]]]:
        """Neighbouring blocks of a file, and the address of their object if they are all of it, and whole lines."""
        leaves = self._leaves(row)
        if row.size < WHOLE_BYTES:
            yield "", leaves
            return
        starts = accumulate((ref.size for ref in leaves), initial=0)
        placed = groupby(zip(leaves, starts, strict=False), lambda found: (found[0].object, found[0].start - found[1]))
        runs = [tuple(ref for ref, _ in run) for _, run in placed]
        for n, run in enumerate(runs):
            begins = self._blocks.last_byte(runs[n - 1][-1]) == _LF if n else self._blocks.head(run[0], 3) != _BOM
            ends = n + 1 == len(runs) or self._blocks.last_byte(run[-1]) == _LF
            yield self._text_at(row.path, run) if begins and ends else "", run

    def _text_at(self, path: str, run: Sequence[BlockRef]) -> str:
        """The address of the object that has these blocks and nothing else; empty if Spark would read it otherwise."""
        stored = self._blocks.find(run[0])
        suffix = PurePosixPath(stored.path or "").suffix
        is_all = run[0].start == 0 and stored.size_bytes == sum(ref.size for ref in run)
        reads_alike = suffix == _suffix(path) or (suffix == PACK_SUFFIX and not is_zipped(path))
        return self._ctx.files.address(stored) if stored.path and is_all and reads_alike else ""

    # --- files in place ---

    def _whole_at(self, row: FileRow) -> str | None:
        if len(row.blocks) != 1 or row.blocks[0].level:
            return None
        stored = self._blocks.find(row.blocks[0])
        if not stored.path or stored.size_bytes != row.size:
            return None
        if PurePosixPath(stored.path).suffix != (_suffix(row.path) or PACK_SUFFIX):
            return None  # moved to another suffix, which readers rely on
        self._ctx.root.check(stored.path, stored.size_bytes, None)
        return self._ctx.root.uri(stored.path)

    def _copied(self, row: FileRow) -> str:
        def content() -> bytes:
            return b"".join(self._blocks.read(ref, row.path) for ref in self._leaves(row))

        return self._ctx.spark_copies.content(content, _suffix(row.path), (row.digest, row.blocks, _suffix(row.path)))

    # --- work for executors ---

    def _leaves(self, row: FileRow) -> tuple[BlockRef, ...]:
        return tuple(ref for ref in self._blocks.leaves(row) if ref.size)

    def _tasks(self, parts: Iterable[Part], form: str) -> list[list[FileStretches]]:
        """Group files into tasks of similar size; large ones are cut between blocks, for `lines` only at line ends."""
        tasks: list[list[FileStretches]] = []
        size = 0
        for row, refs in parts:
            for described, more in self._cut(row, refs, form):
                if not tasks or size + more > _TASK_BYTES or len(tasks[-1]) >= _TASK_FILES:
                    tasks.append([])
                    size = 0
                tasks[-1].append(described)
                size += more
        return tasks

    def _cut(self, row: FileRow, leaves: Sequence[BlockRef], form: str) -> Iterator[tuple[FileStretches, int]]:
        first = start = size = 0
        for n, ref in enumerate(leaves):
            size += ref.size
            is_last = n + 1 == len(leaves)
            if is_last or (size >= _TASK_BYTES and self._may_cut(row.path, ref, form)):
                stretches = [self._stretch(r, row.path) for r in leaves[first : n + 1]]
                yield (row.path, start, first, row.mode, stretches), size
                first, start, size = n + 1, start + size, 0
        if not leaves:
            yield (row.path, 0, 0, row.mode, []), 0

    def _may_cut(self, path: str, ref: BlockRef, form: str) -> bool:
        is_text = form == "lines" and not is_zipped(path)
        return form == "blocks" or (is_text and self._blocks.last_byte(ref) == b"\n")

    def _stretch(self, ref: BlockRef, path: str) -> Stretch:
        if ref.object not in self._addresses:
            self._addresses[ref.object] = self._blocks.address(ref)
        if file := self._addresses[ref.object]:
            return file, ref.start, ref.size, b"", ref.sha256
        content = self._blocks.read(ref, path)
        self._sent += len(content)
        if self._sent <= _SENT_BYTES:
            return "", 0, ref.size, content, ref.sha256
        held = self._ctx.spark_copies.content(lambda: content, ".block", ref.sha256)
        return held, 0, ref.size, b"", ref.sha256

    def stat(self, found: Sequence[FileStat]) -> DataFrame:
        """The properties of files, as a DataFrame."""
        return _as_frame(self._ctx, stat_table(found))


def _as_frame(ctx: Context, rows: pa.Table) -> DataFrame:
    return ctx.engines.spark().frame(reading_of(Rows(rows), rows.column_names))


def _suffix(path: str) -> str:
    found = PurePosixPath(path).suffix.lower()
    return found if found[1:].isascii() and found[1:].isalnum() and len(found) <= 13 else ""
