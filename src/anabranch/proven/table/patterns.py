"""Regular expressions that Java and RE2 read alike, on printable ASCII text."""

from __future__ import annotations

import re
import warnings
from re import _parser  # type: ignore[attr-defined]

from anabranch.proven.table.row import Unproven

_ATOM = (
    r"(?:[A-Za-z0-9 _,:;@#%&=<>!~\"'`/-]|\.|\\[dDwWsSb.\-+*?()\[\]{}|^$/\\]|\[\^?(?:[A-Za-z0-9 _,:;@#%=<>!/.+*?()-]"
    r"|\\[dws.\-\]\[\\^$/])+\])"
)
_TIMES = r"(?:(?:[*+?]|\{\d{1,2}(?:,\d{0,2})?\})\??)?"
_WHOLE = re.compile(rf"(?:\(\?i\))?(?:{_ATOM}{_TIMES}|\((?:\?:)?|\){_TIMES}|[|^$])*")
_REPEATED_GROUP = re.compile(r"(?<!\\)\)[*{+?]")


def refuse_unlike(pattern: str) -> None:
    """Refuse a regular expression that the two engines may read differently."""
    if not _WHOLE.fullmatch(pattern) or (_REPEATED_GROUP.search(pattern) and _has_empty_repeat(pattern)):
        raise Unproven(f"the regular expression {pattern!r}")
    _read(pattern)


def _has_empty_repeat(pattern: str) -> bool:
    """Whether a repeated group may match nothing: the engines end such loops differently."""

    def walk(parts: object) -> bool:
        for op, given in parts:  # type: ignore[attr-defined]
            name = str(op)
            if name in ("MAX_REPEAT", "MIN_REPEAT"):
                inner = given[2]
                if inner.getwidth()[0] == 0 or walk(inner):
                    return True
            elif (name == "SUBPATTERN" and walk(given[3])) or (name == "BRANCH" and any(walk(b) for b in given[1])):
                return True
        return False

    return walk(_read(pattern))


def _read(pattern: str) -> _parser.SubPattern:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return _parser.parse(pattern)
    except (re.error, FutureWarning, DeprecationWarning) as error:
        raise Unproven(f"the regular expression {pattern!r}") from error


def may_match_nothing(pattern: str) -> bool:
    """Whether the pattern may match the empty string."""
    return bool(_read(pattern).getwidth()[0] == 0)


def group_count(pattern: str) -> int:
    """How many groups the pattern has."""
    return int(_read(pattern).state.groups) - 1


def replacement_for_duck(text: str, groups: int) -> str:
    """The replacement text, with groups written as in RE2."""
    if "\\" in text or not re.fullmatch(r"(?:[^$]|\$\d(?!\d))*", text, re.DOTALL):
        raise Unproven(f"the replacement {text!r}")
    if any(int(n) > groups for n in re.findall(r"\$(\d)", text)):
        raise Unproven(f"the replacement {text!r} with a group that is not there")
    return re.sub(r"\$(\d)", r"\\\1", text)
