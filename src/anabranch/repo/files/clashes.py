"""Finds files where folders are, among paths that two writers brought without knowing of each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from anabranch.model.ids import ObjectId
from anabranch.model.objects import NewObject
from anabranch.model.paths import folders_above, join_path
from anabranch.model.schema import Schema, column_types
from anabranch.queries import writes as changes
from anabranch.queries.query import Rows
from anabranch.repo.context.context import Context
from anabranch.repo.files.tree import FileTree

Clash = tuple[str, str]
"""A file, and a path below it."""


def find_clashes(tree: FileTree, new: Iterable[str]) -> list[Clash]:
    """Find files that are folders, too, among paths that are new in a tree and already contained in it."""
    paths = sorted(set(new))
    if not paths:
        return []
    above = {folder: path for path in paths for folder in folders_above(path)}
    found = [(folder, above[folder]) for folder in tree.rows_at(list(above))]
    for path in sorted(tree.folders(paths[0], paths[-1]).intersection(paths)):
        inside = [row.path for row in tree.rows_below(path)]
        found += [(path, inside[0])] if inside else []
    return sorted(set(found))


def keys_of(
    ctx: Context, made: Sequence[NewObject], schema: Schema, pending: Mapping[ObjectId, bytes]
) -> list[tuple[str, str]]:
    """The folders and names that objects of a tree touch."""
    if not made:
        return []
    pairs = column_types(schema.key_columns)
    sources = [ctx.source_of(o.stored, pairs, pending) for o in made]
    keys = [s.table.select([name for name, _ in pairs]) for s in sources if isinstance(s, Rows)]
    if len(keys) < len(sources):
        keys = [ctx.engines.duck().fetch(changes.distinct_keys(sources, schema.key_columns))]
    found = pa.concat_tables([k.rename_columns(["parent", "name"]) for k in keys])
    return list(dict.fromkeys(zip(*(found.column(n).to_pylist() for n in (0, 1)), strict=True)))


def inserted_paths(
    ctx: Context, made: Iterable[NewObject], schema: Schema, pending: Mapping[ObjectId, bytes]
) -> list[str]:
    """The paths of files among the whole rows in objects."""
    rows = [o for o in made if o.stored.kind in ("rows", "exceptions")]
    return [join_path(*key) for key in keys_of(ctx, rows, schema, pending) if key[1]]
