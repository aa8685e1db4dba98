"""Versioned files: very many small ones, many appends to one, a text with a line more, and the tree at many paths."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import anabranch as ab
from benchmarks.limits import LIMITS
from benchmarks.measure import Measured, Scale, Task, compared, side_by_side, tell

SMALL, LARGE = 100_000, 1_000_000
QUICK_SMALL, QUICK_LARGE = 500, 2_000
CONTENT_BYTES, FOLDER_FILES = 1_000, 1_000
A_SECOND, BESIDE_BYTES, FILES_ON_DISK = 50_000, 60, 100
APPENDS, QUICK_APPENDS, APPEND_BYTES = 1_600, 40, 12_000
TEXT_BYTES, INSERTED_BYTES = 31_000_000, 2_000_000


class ManyFiles:
    """A repository with so many files of 1 KB, and what it took to put them."""

    def __init__(self, scale: Scale, count: int) -> None:
        self.count, self.folder = count, scale.folder / f"tree-{count}"
        self.repo = ab.init(self.folder, engine="duck")
        noise = random.Random(1).randbytes(CONTENT_BYTES - 8)
        start = time.process_time()
        with self.repo.commit("main", "load") as tx:
            put = tx.files.put
            for n in range(count):
                put(self.path(n), noise + n.to_bytes(8))
        self.seconds = time.process_time() - start
        self.repo.close()  # what SQLite's log holds is in its file then
        self.bytes, self.files = measured_folder(self.folder)
        self.repo = ab.open(self.folder, engine="duck")

    def path(self, number: int) -> str:
        return f"d{number // FOLDER_FILES:05}/f{number:08}"

    def some(self, seed: int, parity: int = 0) -> list[str]:
        return [self.path(n) for n in random.Random(seed).sample(range(parity, self.count, 2), 10)]

    def change(self, branch: str, seed: int, parity: int = 0) -> None:
        with self.repo.commit(branch, "change") as tx:
            for path in self.some(seed, parity):
                tx.files.put(path, f"{seed} {path}")

    def get(self, number: int) -> None:
        assert self.repo.files().read(self.some(number)[0])

    def list(self, number: int) -> None:
        assert len(self.repo.files().list(self.some(number)[0].partition("/")[0])) >= min(self.count, FOLDER_FILES)

    def commit(self, number: int) -> None:
        self.change("main", 1000 + number)

    def diff(self, _number: int) -> None:
        assert len(self.repo.diff("main~", "main").files) == 10

    def branch_off(self, number: int) -> int:
        """Make two branches that changed other files."""
        for parity, name in enumerate(("ours", "theirs")):
            self.repo.branch(f"{name}-{number}", at="main")
            self.change(f"{name}-{number}", 2000 + number, parity)
        return number

    def merge(self, number: int) -> None:
        self.repo.merge(f"theirs-{number}", into=f"ours-{number}")


VERBS: Mapping[str, tuple[Callable[[ManyFiles, int], None], int]] = {
    "get": (ManyFiles.get, 9),
    "list": (ManyFiles.list, 9),
    "commit": (ManyFiles.commit, 5),
    "diff": (ManyFiles.diff, 5),
    "merge": (ManyFiles.merge, 3),
}


def measured_folder(folder: Path) -> tuple[int, int]:
    """The bytes and the number of the files of a store that nobody has open."""
    found = [p for p in folder.rglob("*") if p.is_file()]
    return sum(p.stat().st_size for p in found), len(found)


def run(chosen: tuple[str, ...], scale: Scale) -> list[Measured]:
    """Run what was asked for."""
    found: list[Measured] = []
    if "file-appends" in chosen:
        found += tell([_appends(scale)])
    if "file-insert" in chosen:
        found += tell([_inserted_line(scale)])
    if {"file-puts", "file-paths"}.intersection(chosen):
        small, large = (QUICK_SMALL, QUICK_LARGE) if scale.quick else (SMALL, LARGE)
        many = ManyFiles(scale, large)
        found += tell(_puts(many)) if "file-puts" in chosen else []
        found += _paths(ManyFiles(scale, small), many, scale) if "file-paths" in chosen else []
    return found


def _puts(many: ManyFiles) -> list[Measured]:
    size, limit = f"{many.count:,} files of 1 KB", LIMITS["file-puts"]
    allowed, beside = many.count / A_SECOND, many.bytes - many.count * CONTENT_BYTES
    return [
        Measured("file-puts CPU", size, allowed, many.seconds, many.seconds / allowed, limit),
        _counted("file-puts bytes beside content", size, many.count * BESIDE_BYTES, beside),
        _counted("file-puts files on disk", size, FILES_ON_DISK, many.files),
    ]


def _counted(name: str, size: str, allowed: float, found: float) -> Measured:
    return Measured(name, size, allowed, found, found / allowed, LIMITS["file-puts"])


def _paths(few: ManyFiles, many: ManyFiles, scale: Scale) -> list[Measured]:
    """Every verb on a tree of few paths and on one of many, side by side."""
    found: list[Measured] = []
    for name, (verb, rounds) in VERBS.items():
        tasks = {side: _task(verb, files) for side, files in (("few", few), ("many", many))}
        times = side_by_side(tasks, scale.rounds(rounds), patience=scale.patience)
        size = f"{many.count:,} paths for {few.count:,}"
        found += tell([compared(f"file-paths {name}", size, times["few"], times["many"], LIMITS["file-paths"])])
    return found


def _task(verb: Callable[[ManyFiles, int], None], files: ManyFiles) -> Task:
    prepare = files.branch_off if verb is ManyFiles.merge else int
    return Task(lambda number: verb(files, number), prepare)


def _appends(scale: Scale) -> Measured:
    """Appends of 100 bytes to one file, each a commit: what the store grows by for each."""
    count, folder = QUICK_APPENDS if scale.quick else APPENDS, scale.folder / "appends"
    with ab.init(folder, engine="duck") as repo:
        for n in range(count):
            with repo.commit("main", "append") as tx:
                tx.files.append("log", f"{n:<99}\n")
        assert repo.files().stat("log").size == count * 100
    grown = measured_folder(folder)[0] / count
    return _counted("file-appends bytes a commit", f"{count:,} appends", APPEND_BYTES, grown)


def _inserted_line(scale: Scale) -> Measured:
    """A text of 31 MB, then the same with a line more at its top: what the second version stores."""
    folder, chance = scale.folder / "text", random.Random(2)
    size = TEXT_BYTES // (100 if scale.quick else 1)
    text = b"".join(chance.randbytes(30).hex().encode() + b"\n" for _ in range(size // 61))
    ab.init(folder).close()
    sizes = []
    for content in (text, b"a line at the top\n" + text):
        with ab.open(folder, engine="duck") as repo, repo.commit("main", "text") as tx:
            tx.files.put("t.csv", content)
        sizes.append(measured_folder(folder)[0])
    return _counted("file-insert bytes stored", f"{size / 1e6:.0f} MB of text", INSERTED_BYTES, sizes[1] - sizes[0])
