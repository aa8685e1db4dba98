"""Files as rows: read by Spark's executors from the objects, or in the process for Arrow; and files in place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal, get_args

import pyarrow as pa

from anabranch.engines import file_reading
from anabranch.engines.file_reading import FileStretches, Stretch
from anabranch.errors import InvalidRequest
from anabranch.model.files import BlockRef, FileRow, FileStat
from anabranch.objects.chunks import WHOLE_BYTES
from anabranch.objects.packs import SUFFIX as PACK_SUFFIX
from anabranch.queries.query import Rows, reading_of
from anabranch.repo.context.context import Context
from anabranch.repo.files.blocks import BlockReader

if TYPE_CHECKING:
    from anabranch.engines.spark import DataFrame

FileForm = Literal["content", "lines", "blocks", "stat"]
_TASK_BYTES, _TASK_FILES = 32 * 1024 * 1024, 10_000
_SENT_BYTES = 32 * 1024 * 1024
"""Bytes in the catalogue are sent to executors up to this size; the rest is put where they can read it."""
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
        described = [(row.path, 0, 0, row.mode, self._leaves(row)) for row in self._rows]
        found = file_reading.read_task(described, form, lambda path, ref: self._blocks.read(ref, path))  # type: ignore[arg-type]
        return pa.Table.from_batches(found, file_reading.arrow_schema(_FORMS[form]))

    def spark(self, form: str) -> DataFrame:
        """Read the files as a DataFrame; runs nothing yet."""
        from anabranch.engines.spark_file_frames import files_frame, text_frame

        engine = self._ctx.engines.spark()
        whole = self._by_spark_itself() if form == "lines" else {}
        taken = {path for paths in whole.values() for path in paths}
        rest = FileFrames(self._ctx, self._blocks, [row for row in self._rows if row.path not in taken])
        tasks = rest._tasks(form)
        places = [*whole, *(file for task in tasks for described in task for file, *_ in described[-1] if file)]
        if places:
            engine.look(places[0])
        frames = [text_frame(engine.session, whole, self._ctx.root.spark_options())] if whole else []
        if any("://" in place for place in places):  # executors have no keys to a bucket, so send the rows
            frames.append(_as_frame(self._ctx, rest.arrow(form)))
        elif tasks or not whole:
            frames.append(files_frame(engine.session, [file_reading.packed(task) for task in tasks], form))
        return frames[0] if len(frames) == 1 else frames[0].unionAll(frames[1])

    def places(self) -> list[str]:
        """An address for each file: of its object, if that is the file, else of a copy that lives until exit."""
        return [self._whole_at(row) or self._copied(row) for row in self._rows]

    # --- files that are objects of their own ---

    def _by_spark_itself(self) -> dict[str, list[str]]:
        """Large files that are whole objects with their suffix: Spark splits and decompresses them itself."""
        found: dict[str, list[str]] = {}
        for row in self._rows:
            place = self._whole_at(row) if row.size >= WHOLE_BYTES else None
            if place is not None:
                found.setdefault(place, []).append(row.path)
        return found

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
        return tuple(ref for ref in self._blocks.leaves(row.blocks, row.path) if ref.size)

    def _tasks(self, form: str) -> list[list[FileStretches]]:
        """Group files into tasks of similar size; large ones are cut between blocks, for `lines` only at line ends."""
        tasks: list[list[FileStretches]] = []
        size = 0
        for row in self._rows:
            for described, more in self._cut(row, form):
                if not tasks or size + more > _TASK_BYTES or len(tasks[-1]) >= _TASK_FILES:
                    tasks.append([])
                    size = 0
                tasks[-1].append(described)
                size += more
        return tasks

    def _cut(self, row: FileRow, form: str) -> Iterator[tuple[FileStretches, int]]:
        leaves = self._leaves(row)
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
        is_text = form == "lines" and not path.lower().endswith(".gz")
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
