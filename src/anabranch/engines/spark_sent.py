"""Runs first on Spark's executors: makes our code importable there, under a name that nothing else has.

This module is sent by value and imports nothing of ours. It doesn't touch an installed anabranch, or another version
that was sent before: the name contains a hash of the code.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import io
import json
import pickle
import sys
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

HOME = "anabranch"
"""The package's name on the sending side."""


@dataclass(frozen=True)
class SentCode:
    """Modules to send: their package's name on executors, and their sources."""

    package: str
    sources: bytes

    def install(self) -> None:
        """Make the modules importable, once per process."""
        if self.package not in sys.modules:
            sys.meta_path.append(_SentFinder(self.package, json.loads(zlib.decompress(self.sources))))
            __import__(self.package)


class _SentFinder(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Finds modules among the sources, and empty packages above them."""

    def __init__(self, package: str, sources: dict[str, str]) -> None:
        self._package, self._sources = package, sources

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self._package and not name.startswith(f"{self._package}."):
            return None
        return importlib.util.spec_from_loader(name, self, is_package=self.is_package(name))

    def is_package(self, name: str) -> bool:
        return name not in self._sources

    def get_source(self, name: str) -> str:
        return self._sources.get(name, "")


class _Elsewhere(pickle.Unpickler):
    """Unpickles values whose classes have another name here."""

    def __init__(self, content: bytes, there: str, here: str) -> None:
        super().__init__(io.BytesIO(content))
        self._there, self._here = there, here

    def find_class(self, module: str, name: str) -> Any:
        if module == self._there or module.startswith(f"{self._there}."):
            module = self._here + module[len(self._there) :]
        return super().find_class(module, name)


def packed(value: Any) -> bytes:
    """Pickle a value for a process where our classes have another name."""
    return zlib.compress(pickle.dumps(value), 1)


def unpacked(content: bytes, there: str, here: str) -> Any:
    """Read what `packed` made where our package is called `there`."""
    return _Elsewhere(zlib.decompress(content), there, here).load()


def run_rows(code: SentCode, call: bytes, batches: Iterable[Any]) -> Iterator[Any]:
    """Call a sent function for each number that comes in; it yields batches of rows."""
    code.install()
    function, arguments = unpacked(call, HOME, code.package)
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield from function(number, *arguments)


def run_answers(code: SentCode, call: bytes, batches: Iterable[Any]) -> Iterator[Any]:
    """Call a sent function for each number that comes in; it returns one answer."""
    import pyarrow as pa

    code.install()
    function, arguments = unpacked(call, HOME, code.package)
    for batch in batches:
        for number in batch.column(0).to_pylist():
            answer = packed(function(number, *arguments))
            yield pa.RecordBatch.from_pydict({"number": pa.array([number], pa.int64()), "answer": [answer]})


def look_around() -> str:
    """Report the interpreter of an executor, and the versions of Python and pyarrow."""
    try:
        import pyarrow as pa

        found = str(pa.__version__)
    except ImportError:
        found = ""
    return json.dumps({"interpreter": sys.executable, "python": sys.version.split()[0], "pyarrow": found})
