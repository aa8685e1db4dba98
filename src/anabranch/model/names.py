"""Which names are legal, checked once where text enters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from anabranch.errors import InvalidRequest

SYSTEM_NAMESPACE = "ana"
"""Where SQL finds the system tables."""
HIDDEN_PREFIX = "_ana_"
"""Names that start with this are ours."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_GIT_FORBIDDEN = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//")
_LOOKS_LIKE_POSITION = re.compile(r"/\d+$")


_HALF = re.compile("[\ud800-\udfff]")


def is_clean(text: str) -> bool:
    """Tell whether text can be stored everywhere: no NUL, no halves of surrogate pairs."""
    return "\x00" not in text and is_unicode(text)


def is_unicode(text: str) -> bool:
    """Tell whether text can be encoded: no halves of surrogate pairs."""
    return _HALF.search(text) is None


def check_part(name: str, what: str) -> str:
    """Return the name of a table, column or namespace, or refuse it."""
    problem = None
    if not isinstance(name, str) or not name:
        problem = "it is empty"
    elif len(name.encode("utf-8", "surrogatepass")) > 255:
        problem = "it is longer than 255 bytes"
    elif _CONTROL.search(name):
        problem = "it has control characters"
    elif "." in name or "/" in name:
        problem = "it has a dot or a slash"
    elif name.lower().startswith(HIDDEN_PREFIX):
        problem = f"names that start with {HIDDEN_PREFIX} are reserved"
    elif not is_clean(name):
        problem = "it is not valid Unicode"
    if problem:
        hint = "choose another name"
        if "/" in str(name) and what != "column":
            hint += "; if it is the path of a file: `ana file history`, repo.history(file=)"
        raise InvalidRequest(f"{name!r} is not a name for a {what}: {problem}", hint=hint)
    return name


def plain_name(name: str) -> str:
    """Make a name fit for a column: dots, slashes and control characters become underscores."""
    return _CONTROL.sub("_", name).replace(".", "_").replace("/", "_")


def split_table_name(name: str) -> tuple[tuple[str, ...], str]:
    """Split `sales.orders` into its namespaces and its own name, checking each part."""
    if not isinstance(name, str) or not name:
        raise InvalidRequest(f"{name!r} is not a table's name", hint="give a name such as 'orders' or 'sales.orders'")
    *namespaces, own = name.split(".")
    return tuple(check_part(n, "namespace") for n in namespaces), check_part(own, "table")


def split_namespace(name: str) -> tuple[tuple[str, ...], str]:
    """Split the name of a namespace into those above it and its own part, checking each."""
    if not isinstance(name, str) or not name:
        raise InvalidRequest(f"{name!r} is not a namespace's name", hint="give a name such as 'sales'")
    *above, own = (check_part(part, "namespace") for part in name.split("."))
    return tuple(above), own


def split_new_namespace(name: str) -> tuple[tuple[str, ...], str]:
    """Split the name of a new namespace; refuse that of the system tables."""
    if isinstance(name, str) and name.lower() == SYSTEM_NAMESPACE:
        raise InvalidRequest(f"{name!r} is the namespace of the system tables", hint="choose another name")
    return split_namespace(name)


def check_ref_name(name: str, what: str) -> str:
    """Return the name of a branch or tag by git's rules, or refuse it."""
    problem = None
    if not isinstance(name, str) or not name:
        problem = "it is empty"
    elif len(name.encode("utf-8", "surrogatepass")) > 255:
        problem = "it is longer than 255 bytes"
    elif _GIT_FORBIDDEN.search(name) or not is_clean(name):
        problem = "git's rules forbid blanks, control characters and any of ~ ^ : ? * [ \\ .. @{ //"
    elif name.startswith(("/", "-")) or name.endswith(("/", ".")) or name in ("@", "HEAD"):
        problem = "it may not be HEAD or @, start with a slash or dash, nor end with a slash or dot"
    elif any(part.startswith(".") or part.endswith(".lock") for part in name.split("/")):
        problem = "no part of it may start with a dot or end with .lock"
    elif _LOOKS_LIKE_POSITION.search(name):
        problem = "a slash and digits at the end is how commits are named (main/7)"
    if problem:
        hint = "choose another name"
        if "/" in str(name) and what != "column":
            hint += "; if it is the path of a file: `ana file history`, repo.history(file=)"
        raise InvalidRequest(f"{name!r} is not a name for a {what}: {problem}", hint=hint)
    return name


def check_repository_name(name: str) -> str:
    """Return the name of a repository, or refuse it."""
    return check_part(name, "repository")


def named_args(args: Mapping[str, Any] | None) -> dict[str, Any]:
    """The values of the markers in a text, which have names: `:id`."""
    if args is None or isinstance(args, Mapping):
        return dict(args or {})
    hint = "mark values as :name, and give args={'name': value}"
    raise InvalidRequest(f"args= is a {type(args).__name__}, a dict was expected", hint=hint)
