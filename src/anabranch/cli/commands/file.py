"""`ana file`: versioned files, put and read; writes are staged, as those of tables are."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from anabranch.cli.name_completion import files, refs
from anabranch.cli.options import CommandGroup
from anabranch.cli.output.diff_text import COLOURS, file_lines
from anabranch.cli.output.text import (
    clean,
    columns,
    emit,
    emit_json,
    local,
    number,
    paint,
    plural,
    short,
    show_lines,
    subject,
)
from anabranch.cli.session import Session
from anabranch.cli.staging import NO_COMMIT, Writing, show_commit, staged_documents, writing
from anabranch.documents.records import commit_document
from anabranch.errors import InvalidRequest, NotFound
from anabranch.model.ids import new_id
from anabranch.model.local_paths import local_problem
from anabranch.model.paths import has_wildcard

if TYPE_CHECKING:
    from anabranch.cli.progress import Progress
    from anabranch.model.files import FileStat
    from anabranch.repo.files.tree import FileTree
    from anabranch.repo.files.writer import FilesWriter

_AT = click.option(
    "--at", metavar="REF", shell_complete=refs, help="Where to read; else the current branch, with what is staged."
)
_MESSAGE = click.option("-m", "--message", metavar="TEXT", help="Publish at once, with this message.")


@click.group("file", cls=CommandGroup)
def command() -> None:
    """Put, read and compare versioned files."""


@command.command("put")
@click.argument("source", shell_complete=files)
@click.argument("path")
@_MESSAGE
def put(session: Session, source: str, path: str, message: str | None) -> None:
    """Put a local SOURCE at PATH: a file, a folder, or what a pattern finds; `-` is standard input.

    \b
    $ ana file put customers.csv raw/customers.csv
    $ ana file put '*.csv' raw/ -m "all of them"

    JSON: branch, path, files (how many), commit (as in log, or null if it is staged).
    """
    _check_order(source, path)
    _write(session, message, path, lambda files, described: _put(files, source, path, described))


def _check_order(source: str, path: str) -> None:
    """Refuse what looks like a path and its source in the wrong order."""
    hint = "what is here comes first, then its path there: `ana file put SOURCE PATH`"
    if path == "-":
        raise InvalidRequest("'-' is standard input, and no path of a file", hint=hint)
    if source != "-" and not has_wildcard(source) and not Path(source).exists():
        raise NotFound(f"there is no file or folder {source!r} here", hint=hint)


def _put(files: FilesWriter, source: str, path: str, described: Progress) -> int:
    place = Path(source)
    if source == "-":
        files.put(path, sys.stdin.buffer)
    elif place.is_file():
        files.put(f"{path}{place.name}" if path.endswith("/") or not path else path, place)
    else:
        return files.put_all(path, source, progress=described.so_far)
    return 1


@command.command("append")
@click.argument("source", shell_complete=files)
@click.argument("path")
@_MESSAGE
def append(session: Session, source: str, path: str, message: str | None) -> None:
    """Append a local file, or with `-` standard input, to the file at PATH; it is made if it is not there.

    \b
    $ ana file append prices.csv logs/app.log -m "a line"

    JSON: branch, path, files, commit.
    """

    _check_order(source, path)

    def write(files: FilesWriter, _progress: Progress) -> int:
        files.append(path, sys.stdin.buffer if source == "-" else Path(source))
        return 1

    _write(session, message, path, write)


@command.command("fetch")
@click.argument("url")
@click.argument("path")
@_MESSAGE
def fetch(session: Session, url: str, path: str, message: str | None) -> None:
    """Put at PATH what a URL gives; `ana config --global url_allow` names the places that may be fetched from.

    \b
    $ ana config --global url_allow https://example.com
    $ ana file fetch https://example.com/orders.csv raw/orders.csv

    JSON: branch, path, files, commit.
    """

    def write(files: FilesWriter, _progress: Progress) -> int:
        files.fetch(path, url)
        return 1

    _write(session, message, path, write)


@command.command("rm")
@click.argument("path")
@click.option("-r", "--recursive", is_flag=True, help="Delete a folder with all that is in it.")
@_MESSAGE
def remove(session: Session, path: str, recursive: bool, message: str | None) -> None:
    """Delete a file, or a folder; earlier commits still have it.

    \b
    $ ana file rm -r raw/

    JSON: branch, path, files, commit.
    """
    _write(session, message, path, lambda files, _: files.delete(path, recursive=recursive))


@command.command("mv")
@click.argument("source")
@click.argument("target")
@_MESSAGE
def move(session: Session, source: str, target: str, message: str | None) -> None:
    """Give a file or a folder another path.

    \b
    $ ana file mv raw/a.csv old/a.csv

    JSON: branch, path, files, commit.
    """
    _write(session, message, target, lambda files, _: files.move(source, target))


@command.command("cp")
@click.argument("source")
@click.argument("target")
@_MESSAGE
def copy(session: Session, source: str, target: str, message: str | None) -> None:
    """Let a file or a folder be there a second time; no bytes are written.

    \b
    $ ana file cp raw archive

    JSON: branch, path, files, commit.
    """
    _write(session, message, target, lambda files, _: files.copy(source, target))


@contextmanager
def _whole(place: Path) -> Iterator[BinaryIO]:
    """Open a file to be written, which is there whole or as it was before; a device or a pipe is written straight."""
    if place.exists() and not place.is_file():
        with place.open("wb") as file:
            yield file
        return
    final = place.resolve()
    partial = final.with_name(f".ana-{new_id('t')}")
    try:
        with partial.open("xb") as file:
            yield file
        if final.exists():
            partial.chmod(final.stat().st_mode & 0o777)
        partial.replace(final)
    finally:
        partial.unlink(missing_ok=True)


@command.command("get")
@click.argument("path")
@click.argument("target", required=False)
@_AT
def get(session: Session, path: str, target: str | None, at: str | None) -> None:
    """Write the file at PATH to a local TARGET; without it, under its own name here.

    \b
    $ ana file get raw/orders.csv --at main

    JSON: path, target, size.
    """
    name = path.rpartition("/")[2]
    place = Path(target or name)
    if place.is_dir():
        place = place / name
        target = None
    problem = local_problem(name) if target is None else None
    if problem is not None:
        hint = "give the name of a file to write"
        raise InvalidRequest(f"{name!r} is not written here: {problem}", hint=hint)
    tree = opened(session, at)
    if tree.stat(path).is_folder:
        raise InvalidRequest(f"{path!r} is a folder", hint="`ana checkout DIR` writes all files into a folder")
    with session.progress(f"reading {path}"), _whole(place) as file:
        for chunk in tree.stream(path):
            file.write(chunk)
    described = {"path": path, "target": str(place), "size": place.stat().st_size}
    session.tell(described, f"{clean(path)} → {clean(str(place))} ({_size(described['size'])})")


@command.command("cat")
@click.argument("path")
@_AT
@click.option("--since", metavar="REF", help="Only what was appended after this commit.")
def cat(session: Session, path: str, at: str | None, since: str | None) -> None:
    """Write the bytes of a file to standard output.

    \b
    $ ana file cat logs/app.log --since main~1

    JSON: none; the bytes are written as they are.
    """
    for chunk in opened(session, at).stream(path, since=session.ref(since) if since else None):
        sys.stdout.buffer.write(chunk)
    sys.stdout.buffer.flush()


@command.command("ls")
@click.argument("path", default="")
@_AT
@click.option("-r", "--recursive", is_flag=True, help="All files below, not only what is in the folder.")
def list_(session: Session, path: str, at: str | None, recursive: bool) -> None:
    """List a folder, or what a pattern finds.

    \b
    $ ana file ls raw
    $ ana file ls 'raw/**/*.csv'

    JSON: ref, path, files (list of path, size, is_folder, sha256, mode, written_at, media_type, properties).
    """
    from anabranch.model.paths import has_wildcard

    tree = opened(session, at)
    found = tree.glob(path) if has_wildcard(path) else list(tree.walk(path)) if recursive else tree.list(path)
    session.tell(
        {"ref": session.ref(at), "path": path, "files": [document(stat) for stat in found]},
        columns([_listed(stat) for stat in found]) if found else "There are no files.",
    )


def _listed(stat: FileStat) -> tuple[str, str, str]:
    when = local(stat.written_at) if stat.written_at else ""
    return ("" if stat.is_folder else _size(stat.size), when, clean(stat.path) + ("/" if stat.is_folder else ""))


@command.command("stat")
@click.argument("path")
@_AT
@click.option("--since", metavar="REF", help="Count only what came after this commit.")
def stat(session: Session, path: str, at: str | None, since: str | None) -> None:
    """Tell size, hash, time and properties of a file or folder.

    \b
    $ ana file stat raw/orders.csv

    JSON: path, size, is_folder, sha256, mode, written_at, media_type, properties, whole.
    """
    found = opened(session, at).stat(path, session.ref(since) if since else None)
    described = {**document(found), "whole": found.whole}
    if session.told(described):
        return
    if found.mode is not None:
        described["mode"] = f"{found.mode:o}"
    if since is None:
        del described["whole"]
    show_lines(columns([(name, clean(str(value))) for name, value in described.items() if value not in (None, {})]))


@command.command("diff")
@click.argument("before", default="HEAD", shell_complete=refs)
@click.argument("after", required=False, shell_complete=refs)
@click.option("--text", is_flag=True, help="Show the lines that differ, where both sides are text.")
def diff(session: Session, before: str, after: str | None, text: bool) -> None:
    """Compare the files of two commits; without AFTER, with what is staged.

    \b
    $ ana file diff main dev --text

    JSON: files (list of path, change, before_bytes, after_bytes, appended_bytes, moved_from).
    """
    staged = session.working_set() if after is None else None
    one = session.ref(before)
    found = staged.diff(one).files if staged else session.repo.diff(one, session.ref(after)).files
    if session.json:
        emit_json({"files": found.rows()})
        return
    show_lines(file_lines(found, text=text))
    if not len(found):
        emit("No file differs.")


@command.command("history")
@click.argument("path")
@_AT
@click.option("-n", "--limit", type=click.IntRange(min=0), metavar="N", help="At most so many commits.")
def history(session: Session, path: str, at: str | None, limit: int | None) -> None:
    """List the commits that touched a file, newest first.

    \b
    $ ana file history logs/app.log

    JSON: path, ref, entries (list of commit, as in log, and change, size).
    """
    ref = session.ref(at)
    found = session.repo.history(file=path, at=ref, limit=limit)
    described = [{"commit": commit_document(e.commit), "change": e.change, "size": _after(e.after)} for e in found]
    if session.told({"path": path, "ref": ref, "entries": described}):
        return
    for e in found:
        size = "" if e.after is None else f", {_size(e.after.size)}"
        when = local(e.commit.finished_at)
        emit(
            f"{short(e.commit.hash)}  {when}  {paint(e.change + size, COLOURS[e.change])}  {subject(e.commit.message)}"
        )


def _after(stat: FileStat | None) -> int | None:
    return stat.size if stat else None


def opened(session: Session, at: str | None) -> FileTree:
    """The files at a ref; without one, as the working set shows them."""
    staged = session.working_set() if at is None else None
    return staged.files if staged else session.repo.files(session.ref(at))


def document(found: FileStat) -> dict[str, Any]:
    """A file as JSON tells it."""
    return {name: value for name, value in vars(found).items() if name != "whole"}


def _write(session: Session, message: str | None, path: str, write: Callable[[FilesWriter, Progress], int]) -> None:
    """Change files in the working set, or in a commit, and tell it."""
    with session.progress(f"writing {path}") as described, writing(session, message, None) as made:
        count = write(made.transaction.files, described)
    _report(session, made, path, count, message is not None)


def _report(session: Session, made: Writing, path: str, count: int, is_published: bool) -> None:
    if session.json:
        commit = commit_document(made.commit) if made.commit else None
        emit_json({"branch": session.branch, "path": path, "files": count, "commit": commit})
    elif made.commit:
        show_commit(session, session.branch, made.commit)
    elif is_published:
        emit(NO_COMMIT)
    elif not staged_documents(session.working_set()):
        emit("Nothing changed, so nothing is staged.")
    else:
        emit(f"Staged {plural(count, 'file')} at {clean(path) or 'the top'}; publish with `ana commit -m MESSAGE`.")


def _size(size: int | Any) -> str:
    return f"{number(size)} bytes" if size < 10_000 else f"{size / 1e6:,.2f} MB"
