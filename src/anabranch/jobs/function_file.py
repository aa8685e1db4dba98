"""Finds the function of a job again, in the file that it was in. Stores keep no code."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from anabranch.errors import InvalidRequest, NotFound

JOB_FILE, PIPELINE_FILE = "anabranch_job_", "anabranch_pipeline_"
"""What the names of modules that were loaded by their path begin with."""


def place_of(function: Callable[..., Any]) -> dict[str, str] | None:
    """The file of a function and its name there; None if it can't be found again that way."""
    found = inspect.unwrap(function)
    name, file = getattr(found, "__qualname__", ""), getattr(getattr(found, "__code__", None), "co_filename", "")
    if not name or "<" in name or not Path(file).is_file():
        return None
    return {"file": str(Path(file).resolve()), "name": name}


def load_function(place: Mapping[str, str] | None, job: str) -> Callable[..., Any]:
    """Load the function of a job from its file."""
    again = "call its run() again where it is made: finished shards are kept, and it goes on from there"
    if place is None:
        raise InvalidRequest(f"the function of job {job} is in no file, or inside of another function", hint=again)
    path = Path(place["file"])
    if not path.is_file():
        raise NotFound(f"the function of job {job} was in {path}, which is gone", hint=again)
    if _works_when_imported(path):
        message = f"{path.name} does its work as soon as it is read, which reading the function of job {job} would do"
        raise InvalidRequest(message, hint=f'run it again, or put its work below `if __name__ == "__main__":`; {again}')
    with among_neighbours(path.parent):
        found: Any = load_module(path, JOB_FILE)
    for part in place["name"].split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise NotFound(f"{path.name} has no function {place['name']} any more", hint=again)
    return found  # type: ignore[no-any-return]


def read_place(text: str) -> dict[str, str]:
    """Read FILE.py:FUNCTION, as a user writes it."""
    file, colon, name = text.rpartition(":")
    if not (colon and file and name):
        raise InvalidRequest(f"{text!r} names no function", hint="write FILE.py:FUNCTION, such as words.py:words")
    path = Path(file).expanduser()
    if not path.is_file():
        raise NotFound(f"there is no file {file!r}", hint="name the file that has the function: FILE.py:FUNCTION")
    return {"file": str(path.resolve()), "name": name}


def source_files(function: Callable[..., Any]) -> list[Path]:
    """The file of a function, and the files beside it that this process has loaded as modules."""
    place = place_of(function)
    if place is None:
        return []
    own = Path(place["file"])
    beside = [Path(str(m.__file__)).resolve() for m in list(sys.modules.values()) if _is_beside(m, own.parent)]
    return sorted({own, *(path for path in beside if path.is_file())})


def loaded_from_files(function: Callable[..., Any]) -> list[ModuleType]:
    """The modules of a function that this process loaded by their path, its own and those beside it.

    No other process can import them by name, so they are sent along; empty if the function's module can be imported."""
    own = sys.modules.get(str(getattr(inspect.unwrap(function), "__module__", "")))
    if own is None or not own.__name__.startswith((JOB_FILE, PIPELINE_FILE)):
        return []
    folder = Path(str(own.__file__)).resolve().parent
    return [own, *(m for m in list(sys.modules.values()) if m is not own and _is_beside(m, folder))]


def _is_beside(module: Any, folder: Path) -> bool:
    file = getattr(module, "__file__", None)
    if not isinstance(module, ModuleType) or not file or module.__name__ == "__main__":
        return False
    path = Path(file).resolve()
    is_installed = "site-packages" in path.parts or module.__name__.partition(".")[0] == "anabranch"
    is_of_python = Path(os.__file__).resolve().parent in path.parents
    return not is_installed and not is_of_python and folder in path.parents


def _works_when_imported(path: Path) -> bool:
    """Tell whether a file runs a job at its top level, outside of functions and `if __name__ …`."""
    try:
        tree = ast.parse(path.read_text("utf-8"))
    except (OSError, ValueError, SyntaxError) as error:
        raise InvalidRequest(f"{path.name} can't be read as Python: {error}", hint="name a file of Python") from error
    tops = [n for n in tree.body if not isinstance(n, ast.FunctionDef | ast.ClassDef)]
    loose = [n for n in tops if not (isinstance(n, ast.If) and "__name__" in ast.unparse(n.test))]
    calls = (c for top in loose for c in ast.walk(top) if isinstance(c, ast.Call))
    return any(isinstance(c.func, ast.Attribute) and c.func.attr in ("job", "run") for c in calls)


@contextmanager
def among_neighbours(folder: Path) -> Iterator[None]:
    """A block in which files of a folder may import their neighbours."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def load_module(path: Path, kind: str, **given: Any) -> ModuleType:
    """Load a module by its path; it knows what is given by name, and its own name begins with `kind`."""
    name = f"{kind}{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    vars(module).update(given)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except InvalidRequest:
        raise
    except Exception as error:
        message = f"{path.name} can't be loaded: {type(error).__name__}: {error}"
        raise InvalidRequest(message, hint="run it with Python to see where") from error
    return module
