"""Reads every import under src/anabranch: rooms import downwards only, and each foreign library keeps to its room."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch

import pytest

from tests.architecture import (
    HEIGHT,
    PICTURE,
    SPARK_SOURCE,
    every_import,
    imports,
    module_graph,
    modules,
    picture,
    rings,
    room_of,
)

# The front door shows what users need; to the rooms above it, it stands for repo.
FRONT_DOOR = {"__init__.py": {"repo", "frames", "model", "errors", "settings"}, "__main__.py": {"cli"}}

# Only repo conducts: what works with the catalogue, with objects and with engines knows nothing of the others.
APART = {"queries": {"catalog", "objects"}, "engines": {"catalog", "objects"}}

# One foreign library, one room, or its own file in a room. Arrow is how rows travel between rooms.
LIBRARIES = {
    "click": ["cli/*"],
    "duckdb": ["engines/duck*.py"],
    "fsspec": ["filesystem.py"],
    "obstore": ["objects/bucket.py"],
    "urllib3": ["objects/webhdfs.py"],
    "numpy": [
        "engines/file_reading.py",
        "engines/java_math.py",
        "queries/key_search.py",
        "queries/matched_rows.py",
        "queries/met_cells.py",
        "queries/overlay_fold.py",
        "queries/overlay_places.py",
    ],
    "pandas": ["frames/*", "repo/*"],
    "polars": ["frames/*", "repo/*"],
    "psycopg": ["catalog/*"],
    "py4j": ["engines/spark*.py", "formats/spark/*"],
    "yaml": ["pipelines/load.py"],
    "pyarrow": [
        "jobs/*",
        "pipelines/*",
        "arrow/*",
        "objects/*",
        "engines/*",
        "queries/*",
        "frames/*",
        "formats/*",
        "proven/*",
        "repo/*",
    ],
    "pyfastcdc": ["objects/chunks.py"],
    "pyspark": ["engines/spark*.py", "formats/spark/*", "pipelines/spark_declarations.py"],
    "rich": ["cli/*"],
    "sqlalchemy": ["catalog/*"],
    "sqlglot": ["queries/*", "proven/*"],
}

HEAVY = ("duckdb", "numpy", "pandas", "polars", "pyarrow", "pyspark", "sqlglot")
EMPTY_NAMES = {"base", "common", "core", "data", "handler", "helper", "info", "manager", "misc", "service", "util"}


PARAMETERS_AT_MOST = 6
MANY_PARAMETERS = {
    # What users write: options of commands, keywords of the façade and of declarations.
    "cli/commands/*": "*",
    "repo/verbs/*": "*",
    "pipelines/declarations.py": "[mj]*",
    "pipelines/run.py": "[rw]*",
    "repo/merge/open_conflicts.py": "resolve",
    # What one statement of SQL, or one row of a table, takes.
    "catalog/publish.py": "_*",
    "proven/table/row.py": "proof",
    # One line of the façade each, which has the same keywords.
    "formats/rules/request.py": "make_request",
    "repo/sql/sql.py": "run_script",
}
"""Functions that may take more parameters: a value that holds some of them is mostly the missing idea."""


def test_every_room_has_its_place() -> None:
    known = HEIGHT.keys() | {"__init__", "__main__"}
    assert {room_of(module) for module in modules()} <= known, "rooms that the list of lines does not name"


def test_imports_go_down_only() -> None:
    assert_none(
        f"{place}: {target}: {complaint}"
        for module, place, target in every_import()
        if (complaint := objection_to_room(module, target))
    )


def test_no_modules_import_each_other_in_a_ring() -> None:
    """Imports of all kinds count: at the top of a module, inside a function, for types only."""
    assert_none(" → ".join(ring) for ring in rings(module_graph()))


def test_a_ring_is_found() -> None:
    assert rings({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


def test_the_two_engines_do_not_know_each_other() -> None:
    pairs = (("engines/spark*.py", "anabranch.engines.duck"), ("engines/duck*.py", "anabranch.engines.spark"))
    assert_none(
        f"{place}: {target}"
        for module, place, target in every_import()
        for pattern, other in pairs
        if fnmatch(module, pattern) and target.startswith(other)
    )


def test_every_foreign_library_keeps_to_its_room() -> None:
    assert_none(
        f"{place}: {target}: {complaint}"
        for module, place, target in every_import()
        if (complaint := objection_to_library(module, target))
    )


def test_the_data_source_of_spark_knows_spark_arrow_and_the_package_and_nothing_imports_it() -> None:
    known = {"anabranch", "pyspark", "pyspark_anabranch", "pyarrow"} | sys.stdlib_module_names
    trees = {path.name: ast.parse(path.read_text("utf-8")) for path in SPARK_SOURCE.rglob("*.py")}
    below = {"catalog", "objects", "plan", "queries"}  # rooms that only repo conducts
    found = [(name, target) for name, tree in trees.items() for _, target in imports(name, tree)]
    assert_none(f"{name}: {target}" for name, target in found if target.split(".")[0] not in known)
    assert_none(f"{n}: {t}" for n, t in found if t.startswith("anabranch.") and t.split(".")[1] in below)
    assert_none(f"{name}: no docstring" for name, tree in trees.items() if not ast.get_docstring(tree))
    assert objection_to_library("repo/repository.py", "pyspark_anabranch.source")


def test_every_module_says_what_it_is_for() -> None:
    assert_none(f"{module}: no docstring" for module, tree in modules().items() if not ast.get_docstring(tree))


def test_no_module_or_class_has_an_empty_name() -> None:
    parts = ((module, part) for module in modules() for part in module.removesuffix(".py").split("/"))
    classes = (
        (f"{module}:{node.lineno}", node.name)
        for module, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    )
    assert_none(
        f"{place}: {name}"
        for found in (parts, classes)
        for place, name in found
        if name.lower().removesuffix("s") in EMPTY_NAMES
    )


def test_no_class_name_is_defined_twice() -> None:
    """One word, one thing; whether it is private to its module makes no difference to a reader."""
    places: dict[str, list[str]] = {}
    for module, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name.lstrip("_"), []).append(f"{module}:{node.lineno}")
    assert_none(f"{name}: {', '.join(found)}" for name, found in sorted(places.items()) if len(found) > 1)


def test_functions_take_few_parameters() -> None:
    found = [
        (module, node)
        for module, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and len(parameters(node)) > PARAMETERS_AT_MOST
    ]
    allowed = {
        (m, f) for m, n in found for f, name in MANY_PARAMETERS.items() if fnmatch(m, f) and fnmatch(n.name, name)
    }
    assert_none(
        f"{module}:{node.lineno} {node.name}: {', '.join(parameters(node))}"
        for module, node in found
        if not any(m == module and fnmatch(node.name, MANY_PARAMETERS[f]) for m, f in allowed)
    )
    assert {f for _, f in allowed} == set(MANY_PARAMETERS), "allowed, but no longer needed"


def parameters(node: ast.FunctionDef) -> list[str]:
    given = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
    return [a.arg for a in given if a.arg not in ("self", "cls")]


def test_plans_call_nothing_back_for_rows() -> None:
    """A plan is made of what was read before: no function that reads or runs anything is passed to `queries`."""
    rows = {"Table", "Query", "Source", "Rows", "Files"}
    for module, tree in modules().items():
        for node in ast.walk(tree):
            if (
                module.startswith("queries/")
                and isinstance(node, ast.Subscript)
                and ast.unparse(node.value) == "Callable"
            ):
                given = {n.attr if isinstance(n, ast.Attribute) else getattr(n, "id", "") for n in ast.walk(node.slice)}
                assert not rows & given, f"{module}:{node.lineno}: {ast.unparse(node)}"


def test_the_picture_of_the_rooms_is_current() -> None:
    assert PICTURE.read_text("utf-8") == picture(), "run python -m tests.architecture --draw"


def test_importing_anabranch_loads_no_heavy_library() -> None:
    script = f"import sys, anabranch; print(*sorted(set({HEAVY}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


@pytest.mark.parametrize(
    ("module", "statement"),
    [
        ("model/clock.py", "import anabranch.plan.merge"),
        ("model/clock.py", "from anabranch.plan import merge"),
        ("model/clock.py", "from ..plan import merge"),
        ("model/__init__.py", "from ..plan import merge"),
        ("model/clock.py", "from anabranch import plan"),
        ("model/clock.py", "from .. import plan"),
        ("model/clock.py", "def f():\n    from anabranch.plan import merge"),
        ("model/clock.py", "if TYPE_CHECKING:\n    from anabranch.plan import merge"),
        ("model/clock.py", "import_module('anabranch.plan')"),
        ("catalog/branches.py", "import anabranch.objects"),
        ("errors.py", "from anabranch.settings import Settings"),
        ("engines/duck.py", "from anabranch.catalog import tables"),
        ("repo/merge/merge.py", "from anabranch import Repository"),
        ("plan/merge.py", "import anabranch"),
        ("__init__.py", "from anabranch.catalog import tables"),
    ],
)
def test_an_import_that_goes_up_or_sideways_is_found(module: str, statement: str) -> None:
    assert any(objection_to_room(module, target) for _, target in imports(module, ast.parse(statement)))


@pytest.mark.parametrize(
    ("module", "statement"),
    [
        ("repo/merge/merge.py", "from pyspark.sql import DataFrame"),
        ("engines/duck.py", "import pyspark.sql as spark"),
        ("engines/spark.py", "import duckdb"),
        ("plan/merge.py", "def f():\n    import pyarrow"),
        ("repo/merge/merge.py", "import requests"),
    ],
)
def test_a_library_out_of_its_room_is_found(module: str, statement: str) -> None:
    assert any(objection_to_library(module, target) for _, target in imports(module, ast.parse(statement)))


def objection_to_room(module: str, target: str) -> str | None:
    """Say why a module may not import a target, if it may not; both rooms are named."""
    package, _, rest = target.partition(".")
    if package != "anabranch":
        return None
    source, found = room_of(module), room_of(rest.replace(".", "/"))
    if module in FRONT_DOOR:
        return None if found.split("/")[0] in FRONT_DOOR[module] else f"the front door does not lead to {found}"
    if source == found:
        return None
    found = found if found in HEIGHT else "repo"  # a name taken from the front door
    if found in APART.get(source, ()):
        return f"{source} and {found} are kept apart"
    return None if HEIGHT[found] < HEIGHT[source] else f"{source} is not above {found}"


def objection_to_library(module: str, target: str) -> str | None:
    """Say why a module may not import a foreign library, if it may not."""
    library = target.split(".")[0]
    if library == "anabranch" or library in sys.stdlib_module_names:
        return None
    if library not in LIBRARIES:
        return f"{library} has no room"
    if any(fnmatch(module, place) for place in LIBRARIES[library]):
        return None
    return f"{library} belongs to {' '.join(LIBRARIES[library])}"


def assert_none(offences: Iterator[str]) -> None:
    found = list(offences)
    assert not found, "\n" + "\n".join(found)
