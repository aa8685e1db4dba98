"""What a local folder held when it was last written, and what was taken in from it since, by size, time and hash."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from anabranch.model.paths import check_path

MANIFEST_BEGIN = b'{"ref": '
"""How the text of each manifest begins."""


@dataclass(frozen=True)
class KnownFile:
    """A file as it was last written or taken in."""

    size: int
    mtime_ns: int
    inode: int
    sha256: str

    @classmethod
    def of(cls, found: os.stat_result, sha256: str) -> KnownFile:
        return cls(found.st_size, found.st_mtime_ns, found.st_ino, sha256)


Taken = Mapping[str, KnownFile | None]
"""What was taken in, by path; None for a file that was removed."""


@dataclass(frozen=True)
class Manifest:
    """What a folder holds that is kept elsewhere, too.

    `files` were written from a commit, or taken into one. `taken` is what was taken in since, by the commit that holds
    it: that may be an open one, and be given up. A path was taken in by one of them only, the last.
    """

    ref: str | None = None
    files: Mapping[str, KnownFile] = field(default_factory=dict)
    written_ns: int = 0
    taken: Mapping[str, Taken] = field(default_factory=dict)
    writing: tuple[str, ...] = ()
    """The names of files that a checkout writes before it renames them; one that is there is from a process that died.

    They are random, so that no other file has such a name."""

    @cached_property
    def known(self) -> Mapping[str, KnownFile]:
        """All files, with what was taken in."""
        known: dict[str, KnownFile | None] = dict(self.files)
        for taken in self.taken.values():
            known.update(taken)
        return {path: file for path, file in known.items() if file is not None}

    def is_sure(self, path: str, found: os.stat_result) -> bool:
        """Whether a file is certainly unchanged; one as young as the manifest may have changed since."""
        known = self.known.get(path)
        same = known and (known.size, known.mtime_ns, known.inode) == (found.st_size, found.st_mtime_ns, found.st_ino)
        return bool(same) and found.st_mtime_ns < self.written_ns

    def with_taken(self, by: str, taken: Taken, began_ns: int) -> Manifest:
        """The manifest after a commit took files in; what it knew of them before counts if that is given up."""
        # An old entry must not look sure under the newer time, so it gets one that no file has.
        files = {p: replace(k, mtime_ns=-1) if p in taken else k for p, k in self.files.items()}
        others = {key: {p: k for p, k in t.items() if p not in taken} for key, t in self.taken.items()}
        others[by] = {**others.get(by, {}), **taken}
        return replace(self, files=files, written_ns=began_ns, taken={key: t for key, t in others.items() if t})

    def with_settled(self, by: str, paths: Iterable[str], *, is_open: bool) -> Manifest:
        """The manifest with only those paths taken in by a commit, for good if it is no longer open."""
        held = {p: self.taken[by][p] for p in paths}
        others = {key: t for key, t in self.taken.items() if key != by}
        if is_open:
            return replace(self, taken={**others, by: held})
        settled = {**self.files, **held}
        return replace(self, files={p: k for p, k in settled.items() if k is not None}, taken=others)

    def text(self) -> str:
        """The manifest as it is stored."""
        described = {"ref": self.ref, "written_ns": self.written_ns, "files": _listed(self.files)}
        taken = {key: _listed(taken) for key, taken in self.taken.items()}
        more = {"taken": taken} if taken else {}
        written = {"writing": list(self.writing)} if self.writing else {}
        return json.dumps({**described, **more, **written})


def _listed(files: Taken) -> dict[str, list[int | str] | None]:
    return {p: [k.size, k.mtime_ns, k.inode, k.sha256] if k else None for p, k in sorted(files.items())}


def read_manifest(text: bytes) -> Manifest:
    """Read a stored manifest; raises ValueError, TypeError, KeyError or InvalidRequest if it is none."""
    described = json.loads(text)
    files = {check_path(p): KnownFile(*known) for p, known in described["files"].items()}
    taken = {
        str(key): {check_path(p): KnownFile(*known) if known else None for p, known in paths.items()}
        for key, paths in described.get("taken", {}).items()
    }
    writing = tuple(map(str, described.get("writing", ())))
    return Manifest(described["ref"], files, described["written_ns"], taken, writing)
