"""The rooms of src/anabranch, read from every import: `python -m tests.architecture` prints their sizes and imports,
`--draw` writes docs/rooms.svg. What is allowed stands in `LINES`; `test_architecture.py` holds the code to it."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "anabranch"
PICTURE = ROOT / "docs" / "rooms.svg"

# Imports go down only, lazy and type-only ones too; rooms on one line never import each other. A room that holds
# sub-rooms stands where its own files stand: `repo` is the façade above its sub-rooms.
LINES = (
    ("cli/commands", "server"),
    ("cli",),
    ("cli/output",),
    ("documents",),
    ("orm", "pipelines", "build", "filesystem"),
    ("jobs",),
    ("repo",),
    ("repo/verbs",),
    ("repo/sql",),
    ("repo/remotes",),
    ("repo/merge",),
    ("repo/commit",),
    ("repo/compare",),
    ("repo/files", "repo/live"),
    ("repo/upkeep",),
    ("repo/write",),
    ("repo/mounts",),
    ("repo/read",),
    ("repo/branches",),
    ("repo/context",),
    ("formats",),
    ("formats/spark",),
    ("formats/process",),
    ("formats/rules",),
    ("frames",),
    ("engines", "proven", "sql"),
    ("proven/table", "sql/grammar"),
    ("queries",),
    ("catalog/checks",),
    ("catalog", "objects", "live"),
    ("plan",),
    ("plan/merge",),
    ("arrow",),
    ("model",),
    ("errors", "settings"),
)
HEIGHT = {room: -depth for depth, line in enumerate(LINES) for room in line}

SPARK_SOURCE = ROOT / "src" / "pyspark_anabranch"
"""The data source for Spark: a package of its own, because Spark finds it by its name. It is above all rooms."""


@cache
def modules() -> dict[str, ast.Module]:
    """All of src/anabranch, read when it is first asked for."""
    return {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text("utf-8")) for path in SOURCE.rglob("*.py")}


def every_import() -> Iterator[tuple[str, str, str]]:
    """Give (module, place in it, what it imports), in all of src/anabranch."""
    for module, tree in sorted(modules().items()):
        for line, target in imports(module, tree):
            yield module, f"{module}:{line}", target


def imports(module: str, tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Give (line, dotted name) for whatever a module imports, at its top or further in."""
    package = ["anabranch", *module.split("/")[:-1]]
    for node in ast.walk(tree):
        match node:
            case ast.Import(names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(origin, names, level):
                above = package[: len(package) + 1 - level] if level else []
                stem = ".".join([*above, *([origin] if origin else [])])
                yield from ((node.lineno, f"{stem}.{alias.name}") for alias in names)
            case ast.Call(ast.Name("import_module") | ast.Attribute(_, "import_module"), [ast.Constant(str(name)), *_]):
                yield node.lineno, name


def room_of(module: str) -> str:
    """Name the room of a module (`repo/read/table.py`) or of what is imported from one (`repo/read/table/Table`)."""
    parts = module.removesuffix(".py").split("/")
    rooms = ("/".join(parts[:depth]) for depth in range(len(parts), 0, -1))
    return next((room for room in rooms if room in HEIGHT), parts[0])


def module_of(target: str) -> str | None:
    """Name the module that a dotted name is, or is taken from; None outside of this package."""
    parts = target.split(".")
    if parts[0] != "anabranch":
        return None
    stems = ("/".join(parts[1:depth]) for depth in range(len(parts), 0, -1))
    files = (file for stem in stems for file in (f"{stem}.py", f"{stem}/__init__.py".lstrip("/")))
    return next((file for file in files if file in modules()), None)


def module_graph() -> dict[str, set[str]]:
    """Which modules each module imports, in any way."""
    found: dict[str, set[str]] = {module: set() for module in modules()}
    for module, _, target in every_import():
        below = module_of(target)
        if below is not None and below != module:
            found[module].add(below)
    return found


def rings(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Find the modules that import each other round about: whatever is left when those at either end are taken away."""
    left = dict(graph)
    while True:
        imported = set().union(*left.values()) if left else set()
        ends = {m for m, below in left.items() if m not in imported or not below & left.keys()}
        if not ends:
            break
        left = {m: below - ends for m, below in left.items() if m not in ends}
    reached = {m: _reached(left, m) for m in left}
    found = {tuple(sorted(n for n in reached[m] if m in reached[n])) for m in left if m in reached[m]}
    return [list(ring) for ring in sorted(found)]


def _reached(graph: Mapping[str, set[str]], start: str) -> set[str]:
    found, todo = set(), [start]
    while todo:
        new = graph.get(todo.pop(), set()) - found
        found |= new
        todo += new
    return found


@cache
def sizes() -> dict[str, tuple[int, int]]:
    """How many modules and lines each room has, from the top down."""
    count: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for module in modules():
        count[room_of(module)] += 1
        lines[room_of(module)] += (SOURCE / module).read_text("utf-8").count("\n")
    return {room: (count[room], lines[room]) for room in HEIGHT if room in count}


@cache
def edges() -> dict[str, Counter[str]]:
    """How many imports lead from each room to each room below it."""
    found: dict[str, Counter[str]] = {room: Counter() for room in sizes()}
    for module, _, target in every_import():
        package, _, rest = target.partition(".")
        source, below = room_of(module), room_of(rest.replace(".", "/"))
        if package == "anabranch" and source in found and below in found and below != source:
            found[source][below] += 1
    return found


def table() -> str:
    """The rooms as text: modules, lines, and which rooms they import how often."""
    wide = max(map(len, sizes()))
    rows = [f"{'room':<{wide}}  modules   lines  imports"]
    for room, (files, lines) in sizes().items():
        below = ", ".join(f"{name} {count}" for name, count in edges()[room].most_common())
        rows.append(f"{room:<{wide}}  {files:>7}  {lines:>6}  {below}")
    total = [sum(column) for column in zip(*sizes().values(), strict=True)]
    return "\n".join([*rows, f"{'all':<{wide}}  {total[0]:>7}  {total[1]:>6}"])


_LABEL, _CELL, _TOP = 150, 24, 128


def picture() -> str:
    """The rooms from top to bottom, and again from left to right, as SVG: a dot where a row's room imports a column's.

    Since imports only go down, all dots lie to the right of the diagonal."""
    rooms = list(sizes())
    width, height = _LABEL + len(rooms) * _CELL + 30, _TOP + len(rooms) * _CELL + 12
    drawn = [_row(number, room, rooms) for number, room in enumerate(rooms)]
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="13" fill="#1d2733">'
    )
    background = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    return "\n".join([opening, background, *drawn, "</svg>"]) + "\n"


def _row(number: int, room: str, rooms: list[str]) -> str:
    """One room: its name on the left and at the top, its square on the diagonal, a dot for each room it imports."""
    y, across = _TOP + number * _CELL, _LABEL + number * _CELL
    shade = "#f4f7fa" if number % 2 else "#ffffff"
    dots = (
        f'<circle cx="{_LABEL + rooms.index(below) * _CELL + _CELL // 2}" cy="{y + _CELL // 2}" r="5" fill="#3572b0"/>'
        for below in sorted(edges()[room], key=rooms.index)
    )
    return "\n".join(
        [
            f'<rect x="0" y="{y}" width="{_LABEL + len(rooms) * _CELL}" height="{_CELL}" fill="{shade}"/>',
            f'<rect x="{across + 3}" y="{y + 3}" width="{_CELL - 6}" height="{_CELL - 6}" rx="3" fill="#e5c97a"/>',
            f'<text x="{_LABEL - 10}" y="{y + 17}" text-anchor="end">{room}</text>',
            f'<text transform="translate({across + 17} {_TOP - 8}) rotate(-60)">{room}</text>',
            *dots,
        ]
    )


if __name__ == "__main__":
    if "--draw" in sys.argv:
        PICTURE.write_text(picture(), "utf-8")
    print(table())
