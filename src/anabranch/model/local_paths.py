"""Paths that no local folder is given: those by which a store, git or we ourselves would be written into."""

from __future__ import annotations

import re

from anabranch.errors import InvalidRequest
from anabranch.model.store_folder import FOLDER

MANIFEST = ".ana-manifest"
"""The file that says what a local folder holds; names that begin with it and a dot are ours, too."""
GIT = ".git"
_MAY_BE = re.compile(r"(?:^|/)[.]|~|[^\x00-\x7f]")
"""Only paths like these need a closer look."""
_UNSEEN = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
"""Characters that some file systems leave out of names."""


def local_problem(path: str) -> str | None:
    """Say why a path is never written into a local folder; None if it may be.

    Git runs commands that a file in `.git` names, so one who looks at the folder with git would run a stranger's code.
    """
    if not _MAY_BE.search(path):
        return None
    parts = [_plain(part) for part in path.split("/")]
    if FOLDER in parts:
        return "it would be written into a store's own folder"
    if GIT in parts or "git~1" in parts:
        return "git would take it for its own, and may run what it names"
    if parts[0] == MANIFEST or parts[0].startswith(f"{MANIFEST}."):
        return "it has the name of our own manifest"
    return None


def check_local(path: str) -> str:
    """Return a path that may be written into a local folder; refuse any other before it is versioned."""
    problem = local_problem(path)
    if problem is not None:
        hint = "leave it out, or give it another name: no checkout writes such a path"
        raise InvalidRequest(f"{path!r} can't be versioned: {problem}", hint=hint, path=path)
    return path


def _plain(part: str) -> str:
    """A name as the least exact file systems know it: case, dots and spaces at its end, and streams do not count."""
    return _UNSEEN.sub("", part).partition(":")[0].rstrip(". ").casefold()
