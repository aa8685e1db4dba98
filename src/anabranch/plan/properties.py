"""Properties of tables and namespaces: texts by name, set and removed one by one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from anabranch.errors import InvalidRequest, NotFound
from anabranch.model.names import is_clean
from anabranch.plan.commit import ThingDraft, with_attributes


def with_properties(thing: ThingDraft, given: Mapping[str, str]) -> ThingDraft:
    """The draft with some properties set; others stay."""
    known: dict[str, str] = {**thing.attributes.get("properties", {}), **check_properties(given)}
    return with_attributes(thing, "alter properties", properties=known)


def without_properties(thing: ThingDraft, names: Iterable[str]) -> ThingDraft:
    """The draft with some properties removed; unknown ones are refused."""
    known: dict[str, str] = dict(thing.attributes.get("properties", {}))
    for name in [names] if isinstance(names, str) else list(names):
        if name not in known:
            hint = f"there: {', '.join(sorted(known)) or 'none'}"
            raise NotFound(f"{thing.kind} {thing.name!r} has no property {name!r}", hint=hint, property=name)
        del known[name]
    return with_attributes(thing, "alter properties", properties=known)


def check_properties(given: Any) -> dict[str, str]:
    """Check that properties are texts by name."""
    if not isinstance(given, Mapping):
        raise InvalidRequest(f"properties are {given!r}, a dict was expected", hint="such as {'owner': 'ann'}")
    for name, value in given.items():
        if not isinstance(name, str) or not name.strip() or not is_clean(name):
            raise InvalidRequest(f"{name!r} is not a name for a property", hint="give text")
        if not isinstance(value, str) or not is_clean(value):
            raise InvalidRequest(f"property {name!r} is {value!r}, text was expected", hint="give text")
    return dict(given)
