"""Runs our code on Spark's executors, which needn't have it installed: it is sent with each job."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any
from weakref import WeakKeyDictionary

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from anabranch.engines import spark_sent
from anabranch.engines.spark_errors import translate
from anabranch.engines.spark_sent import HOME, SentCode, look_around, packed, run_answers, run_rows, unpacked
from anabranch.engines.spark_sessions import EXECUTORS_PYTHON, functions_of, is_remote, quietly
from anabranch.errors import AnabranchError, Unavailable

SENT = ("errors.py", "settings.py", "model", "arrow", "formats/rules", "formats/process")
"""The rooms that are sent: they import only each other, pyarrow and the standard library."""
_PYARROW_FROM = 23
_ANSWER = "number bigint, answer binary"
_IMPORT = re.compile(rf"^(\s*(?:from|import)\s+){HOME}(?=[.\s])", re.MULTILINE)


def ask_executors(
    session: SparkSession, function: Callable[..., Any], arguments: Sequence[Any], count: int
) -> list[Any]:
    """Call a function of a sent room for each number below `count`, one task each; returns the answers in order."""
    answers = _mapped(session, run_answers, function, arguments, count, _ANSWER)
    try:
        with quietly():
            found = answers.toArrow()
    except (PySparkException, Py4JJavaError) as error:
        raise translate(error) from error
    described = dict(zip(found.column("number").to_pylist(), found.column("answer").to_pylist(), strict=True))
    return [unpacked(described[number], sent_code().package, HOME) for number in range(count)]


def frame_of(
    session: SparkSession, function: Callable[..., Any], arguments: Sequence[Any], count: int, schema: str
) -> DataFrame:
    """Make a DataFrame of the batches that a function of a sent room yields for each number below `count`."""
    return _mapped(session, run_rows, function, arguments, count, schema)


def _mapped(
    session: SparkSession, run: Any, function: Callable[..., Any], arguments: Sequence[Any], count: int, schema: str
) -> DataFrame:
    from pyspark import cloudpickle

    check_executors(session)
    cloudpickle.register_pickle_by_value(spark_sent)  # type: ignore[no-untyped-call]
    numbers = session.range(0, count, 1, count)
    return numbers.mapInArrow(partial(run, sent_code(), packed((function, tuple(arguments)))), schema)


@cache
def sent_code() -> SentCode:
    """The sources of the sent rooms, with their imports renamed to the package that they have on executors."""
    found = dict(pair for room in SENT for pair in _sources(files(HOME), room))
    package = f"{HOME}_{hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:12]}"
    renamed = {package + name[len(HOME) :]: _IMPORT.sub(rf"\g<1>{package}", source) for name, source in found.items()}
    return SentCode(package, zlib.compress(json.dumps(renamed).encode()))


def _sources(root: Traversable, path: str) -> Iterator[tuple[str, str]]:
    """The modules at or below a path, by name; `__init__.py` files are left out."""
    place = root.joinpath(path)
    if place.is_dir():
        for inner in place.iterdir():
            if inner.name.endswith(".py") and inner.name != "__init__.py":
                yield from _sources(root, f"{path}/{inner.name}")
        return
    yield f"{HOME}.{path.removesuffix('.py').replace('/', '.')}", place.read_text("utf-8")


_LOOKED_AT: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()
"""Sessions whose executors were checked."""


def check_executors(session: SparkSession) -> None:
    """Refuse, once per session, executors that lack what our code needs: Spark would only report a failed task."""
    if session in _LOOKED_AT:
        return
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(spark_sent)  # type: ignore[no-untyped-call]
    functions = functions_of(session)
    look = functions.udf(lambda _: look_around(), "string", useArrow=False)
    try:
        with quietly():
            (row,) = session.range(1).select(look("id")).collect()
    except (PySparkException, Py4JJavaError) as error:
        raise _unable_to_run(session, error) from error
    described = json.loads(row[0])
    if int((described["pyarrow"] or "0").partition(".")[0]) < _PYARROW_FROM:
        ran = described["interpreter"]
        found = f"pyarrow {described['pyarrow']}" if described["pyarrow"] else "no pyarrow"
        message = (
            f"Spark's executors run {ran} (Python {described['python']}), which has {found};"
            f" {_PYARROW_FROM} or newer was expected"
        )
        install = f"run {ran} -m pip install 'pyarrow>={_PYARROW_FROM}' where they are"
        raise Unavailable(message, hint=f"{_advice(session)}, or {install}")
    _LOOKED_AT[session] = True


def _unable_to_run(session: SparkSession, error: PySparkException | Py4JJavaError) -> AnabranchError:
    """The error for executors on which the smallest function failed: it is theirs, if Spark itself answers."""
    try:
        with quietly():
            session.range(1).collect()
    except (PySparkException, Py4JJavaError) as failure:
        return translate(failure)
    reason = translate(error).message
    message = f"Spark's executors can't run functions of Python {platform.python_version()}: {reason}"
    return Unavailable(message, hint=_advice(session))


def _advice(session: SparkSession) -> str:
    """What to do about the executors' Python: it is chosen where the session starts."""
    if is_remote(session):
        return f"start the server with {EXECUTORS_PYTHON} set to a Python like this driver's"
    given = os.environ.get(EXECUTORS_PYTHON)
    found = f"it is {given}" if given else "it is not set, so it was python3 from PATH"
    return (
        f"before the session starts, set {EXECUTORS_PYTHON} to a Python like this driver's, {sys.executable}: {found}"
    )
