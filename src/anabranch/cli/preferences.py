"""Users' preferences by name: for one folder in its cli.json, for all in a file of the user's own.

Commands to run and places to fetch from come only from the user's own file: a folder may come from a stranger."""

from __future__ import annotations

import os
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from anabranch.cli import remembered as state
from anabranch.errors import InvalidRequest, NotFound

ENGINES = ("auto", "spark", "duck")


@dataclass(frozen=True)
class Known:
    """A preference: its meaning, and its possible values."""

    meaning: str
    choices: tuple[str, ...] = ()
    default: str = ""
    own: bool = False
    """Whether only the user's own file counts, not the folder's, as for a command to run."""


KNOWN = {
    "author": Known("who makes commits"),
    "engine": Known("what runs the work", ENGINES, "auto"),
    "colour": Known("when output has colours", ("auto", "always", "never"), "auto"),
    "pager": Known("the command that shows long texts, or never", own=True),
    "url_allow": Known("places that `ana file fetch` may fetch from, with spaces between", own=True),
}


@dataclass(frozen=True)
class Preference:
    """A preference in force here."""

    name: str
    value: str
    where: str
    """`folder`, `user`, or `default` if nobody chose."""


def in_force(folder: dict[str, str]) -> list[Preference]:
    """Every preference: the folder's, or else the user's, or else the default."""
    user = load_user()
    found = []
    for name, known in KNOWN.items():
        if name in folder and not known.own:
            found.append(Preference(name, folder[name], "folder"))
        elif name in user:
            found.append(Preference(name, user[name], "user"))
        else:
            found.append(Preference(name, known.default, "default"))
    return found


def preferred(folder: dict[str, str]) -> dict[str, str]:
    """The value of every preference."""
    return {p.name: p.value for p in in_force(folder)}


def check_name(name: str) -> str:
    """Refuse an unknown preference; the error suggests the nearest name."""
    if name not in KNOWN:
        near = get_close_matches(name, KNOWN, n=1)
        habit = "`ana config author NAME` says who you are" if name in ("user.name", "user.email") else None
        hint = habit or (f"did you mean {near[0]!r}?" if near else f"there: {', '.join(KNOWN)}")
        raise NotFound(f"there is no setting {name!r}", hint=hint, name=name)
    return name


def check_value(name: str, value: str) -> str:
    """Refuse a value that the setting can't have."""
    choices = KNOWN[name].choices
    if choices and value not in choices:
        raise InvalidRequest(f"{name} can't be {value!r}", hint=f"choose one of {', '.join(choices)}")
    if not value.strip():
        raise InvalidRequest(f"{name} can't be empty", hint=f"`ana config --unset {name}` goes back to the default")
    return value


def user_file() -> Path:
    """The user's own file."""
    home = os.environ.get("XDG_CONFIG_HOME")
    return Path(home or os.path.expanduser("~/.config")) / "anabranch" / "config.json"  # Path.home() might raise.


def load_user() -> dict[str, str]:
    """Read the user's preferences for all folders; none if there is no file."""
    return state.texts(state.read_document(user_file(), "mend or remove it; `ana config --global` writes it again"))
