"""Tells whether code is still the same, by a hash of what a function says, not of its layout.

It covers the function, the functions of its own module (and of modules beside it) that it calls, and the plain values
that it closes over. It doesn't cover libraries, data files or anything looked up at run time: use `version=` for those.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from anabranch.errors import InvalidRequest

_PLAIN = (str, bytes, int, float, bool, type(None))


def code_hash(function: Callable[..., Any], version: str | None = None) -> str:
    """Hash a function's code; if that can't be done, `version=` is required, and stands for all of it."""
    if version is not None:
        return _digest(["version", version])
    found = inspect.unwrap(function)
    if not isinstance(found, FunctionType):
        message = f"the code of {function!r} can't be distinguished from other code"
        raise InvalidRequest(message, hint="give a function, or say version= and change it with the code")
    return _digest(list(_parts(found, set())))


def text_hash(*texts: str) -> str:
    """Hash texts that stand for code, such as a query."""
    return _digest(["text", *texts])


def _parts(function: FunctionType, seen: set[CodeType]) -> Iterator[Any]:
    if function.__code__ in seen:
        return
    seen.add(function.__code__)
    yield [function.__qualname__, _normalised(function)]
    yield [_value(function, name, v) for name, v in _closed_over(function)]
    for name in sorted(_names(function.__code__)):
        used = function.__globals__.get(name)
        if isinstance(used, FunctionType) and _is_same_project(used, function):
            yield from _parts(used, seen)
        elif isinstance(used, _PLAIN) and name in function.__globals__:
            yield [name, repr(used)]


def _normalised(function: FunctionType) -> str:
    """The function's syntax tree, without comments, layout, docstrings and annotations."""
    try:
        source = textwrap.dedent(inspect.getsource(function))
        tree = ast.parse(source)
    except (OSError, SyntaxError, TypeError):
        return _of_bytecode(function.__code__)
    found = next((n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.Lambda)), tree)
    for node in ast.walk(found):
        if isinstance(node, ast.FunctionDef):
            node.decorator_list, node.returns = [], None
            if ast.get_docstring(node) is not None:
                node.body = node.body[1:] or [ast.Pass()]
        elif isinstance(node, ast.arg):
            node.annotation = None
    return ast.dump(found)


def _of_bytecode(code: CodeType) -> str:
    """Code without a source, as typed at a prompt: its bytecode, which depends on the Python version."""
    constants = [_of_bytecode(c) if isinstance(c, CodeType) else _text(c) for c in code.co_consts]
    return json.dumps([code.co_code.hex(), constants, list(code.co_names), list(sys.version_info[:2])])


def _names(code: CodeType) -> set[str]:
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _closed_over(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """What a function closes over, and the defaults of its parameters, by position or name."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name, cell.cell_contents
    yield from ((f"default {n}", value) for n, value in enumerate(function.__defaults__ or ()))
    yield from (function.__kwdefaults__ or {}).items()


def _value(function: FunctionType, name: str, value: Any) -> list[str]:
    if isinstance(value, FunctionType):
        return [name, _normalised(value)]
    if isinstance(value, ModuleType):
        return [name, value.__name__]
    if isinstance(value, _PLAIN) or _is_plain(value):
        return [name, _text(value)]
    message = f"{function.__qualname__!r} uses {name}, a {type(value).__name__} whose content can't be hashed"
    raise InvalidRequest(message, hint="say version=, and change it whenever the code or that value changes")


def _text(value: Any) -> str:
    """A value's `repr`, with sets in an order that is the same in every process."""
    if isinstance(value, set | frozenset):
        return f"{type(value).__name__}({', '.join(sorted(map(_text, value)))})"
    if type(value) is list:
        return f"[{', '.join(map(_text, value))}]"
    if type(value) is tuple:
        return f"({', '.join(map(_text, value))}{',' * (len(value) == 1)})"
    if type(value) is dict:
        return f"{{{', '.join(f'{_text(k)}: {_text(v)}' for k, v in value.items())}}}"
    return repr(value)


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple | set | frozenset):
        return all(isinstance(v, _PLAIN) or _is_plain(v) for v in value)
    if isinstance(value, dict):
        return _is_plain(list(value.keys())) and _is_plain(list(value.values()))
    return type(value).__module__.startswith("anabranch.") or isinstance(value, _PLAIN)


def _is_same_project(used: FunctionType, function: FunctionType) -> bool:
    """Tell whether two functions belong to one project: the same module, or one in the same folder or below."""
    if used.__module__ == function.__module__:
        return True
    own, other = (getattr(sys.modules.get(f.__module__), "__file__", None) for f in (function, used))
    return bool(own and other) and Path(str(own)).parent in Path(str(other)).parents


def _digest(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
