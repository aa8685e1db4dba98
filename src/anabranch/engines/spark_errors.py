"""Turns Spark's errors into ours, by their SQLSTATE."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import (
    AnalysisException,
    ArithmeticException,
    DateTimeException,
    PySparkException,
    PythonException,
)

from anabranch.errors import InvalidRequest, NotFound, Unavailable
from anabranch.model.texts import FLATTER

if TYPE_CHECKING:
    from anabranch.errors import AnabranchError

FAILURES = (PySparkException, Py4JJavaError)
"""PySpark leaves some of Spark's errors as Java exceptions."""

_VALUE_STATES = ("22", "21")
"""SQLSTATE classes of values that do not fit: data exceptions and cardinality."""
_REQUEST_STATES = ("42", "0A", "38")
"""SQLSTATE classes of text that can't be run: syntax, names, types, missing features."""
_TOO_COMPLEX = "54"
"""SQLSTATE class of text beyond limits: Spark's stack is too small for it."""
NO_FILE = "42K03"
"""SQLSTATE of a missing path, which no other request could fix."""


_PLACE = re.compile(r"( SQLSTATE: \w{5})?([; (]+line \d+,? pos \d+[;)]*)?$")
"""The end of Spark's first line: a code for programs, and a position in a text that the user didn't write."""


def translate(error: PySparkException | Py4JJavaError) -> AnabranchError:
    """Turn Spark's error into ours, by its SQLSTATE."""
    if isinstance(error, PythonException):
        hint = (
            "mend the function, or what it needs there: PYSPARK_PYTHON, set before a session starts, names the Python"
        )
        return InvalidRequest(f"Python failed on Spark's executors: {reason_of(error)}", hint=hint)
    state, message = _state_and_message(error)
    first = next((line.strip() for line in message.splitlines() if line.strip()), type(error).__name__)
    text = _PLACE.sub("", first)
    unclear = _unclear_name(error)
    if unclear is not None:
        return unclear
    if state.startswith(_VALUE_STATES):
        return InvalidRequest(f"a value does not fit: {text}", hint="check the values and the column's type")
    if state == NO_FILE:
        return Unavailable(f"the data can't be read: {text}", hint="check that the object root can be reached")
    if state.startswith(_TOO_COMPLEX):
        return InvalidRequest("it has too many parts inside each other, or in a row, for Spark", hint=FLATTER)
    # Older Sparks refuse some things without a state.
    if state.startswith(_REQUEST_STATES) or (not state and isinstance(error, AnalysisException)):
        return InvalidRequest(f"the expression can't be run: {text}", hint="check names and types")
    return Unavailable(f"Spark failed: {text}", hint="see Spark's log")


def reason_of(error: BaseException) -> str:
    """What a failure of Spark says, in a line: the error of a Python worker, or else the first line."""
    lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    begins = next((n for n, line in enumerate(lines) if "Traceback (most recent call last)" in line), len(lines))
    return next((line for line in lines[begins + 1 :] if not line.startswith(" ")), lines[0].strip())


def _unclear_name(error: PySparkException | Py4JJavaError) -> NotFound | InvalidRequest | None:
    """The error for a name that Spark doesn't know or finds ambiguous, with the names that it does know."""
    if not isinstance(error, PySparkException):
        return None
    kind = str(error.getCondition() or "").partition(".")[0]
    facts = error.getMessageParameters() or {}
    if kind == "UNRESOLVED_COLUMN":
        name, near = _bare(facts.get("objectName", "")), facts.get("proposal", "")
        known = [_bare(part) for part in near.split(", ") if part]
        hint = f"did you mean {known[0]!r}?" if get_close_matches(name, known[:1]) else f"columns: {', '.join(known)}"
        return NotFound(f"there is no column {name!r}", hint=hint if known else None, column=name)
    if kind == "AMBIGUOUS_REFERENCE":
        name, both = _bare(facts.get("name", "")), _bare(facts.get("referenceNames", "")).strip("[]")
        return InvalidRequest(f"the column {name!r} is ambiguous", hint=f"it may be {both}", column=name)
    if kind == "UNRESOLVED_ROUTINE":
        name = _bare(facts.get("routineName", ""))
        return NotFound(f"there is no function {name!r}", hint="see Spark's list of functions", function=name)
    return None


def _bare(name: str) -> str:
    """A name without backticks."""
    return name.strip().replace("`", "")


def _state_and_message(error: PySparkException | Py4JJavaError) -> tuple[str, str]:
    if isinstance(error, PySparkException):
        of_value = isinstance(error, (ArithmeticException, DateTimeException))  # Java's own have no state
        return error.getSqlState() or ("22003" if of_value else ""), str(error)
    thrown = root = error.java_exception
    while thrown is not None:  # Spark's threads wrap failures in exceptions without a state
        state = _java_state(thrown)
        if state:
            return state, str(thrown.getMessage())
        root, thrown = thrown, thrown.getCause()
    return _JAVA_STATES.get(str(root.getClass().getName()), ""), str(root.toString())


_JAVA_STATES = {
    "java.lang.ArithmeticException": "22003",
    "java.time.DateTimeException": "22008",
    "java.lang.StackOverflowError": "54001",
}
"""SQLSTATEs for what Java itself throws on values and texts: Spark gives these none."""


def _java_state(thrown: Any) -> str | None:
    try:
        found: str | None = thrown.getSqlState()
    except Py4JError:  # only Spark's own exceptions have this method
        return None
    return found


@contextmanager
def translated() -> Iterator[None]:
    """A block whose failures in Spark are errors of ours; Spark Connect analyses a DataFrame only when it is asked."""
    try:
        yield
    except FAILURES as error:
        raise translate(error) from error
