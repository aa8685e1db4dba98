"""Arrays, maps and structs built in an expression: DuckDB builds them as Spark does if their parts are of one type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from anabranch.errors import InvalidRequest
from anabranch.model.types import VOID, DataType, Field, array_of, map_of, struct_of
from anabranch.proven.prover import Prover
from anabranch.proven.table.row import Unproven
from anabranch.queries.nested import struct_built

TypedTerm = tuple[exp.Expr, DataType | None]


def prove_whole(prover: Prover, node: exp.Expr) -> TypedTerm:
    """Translate a column's whole value, which may be a nested value built in place."""
    maker = _MAKERS.get(node.name.lower()) if isinstance(node, exp.Anonymous) else None
    if maker is None:
        proven = prover.visit(node)
        return proven.node, proven.type
    return maker(prover, node.expressions)


def _array(prover: Prover, given: Sequence[exp.Expr]) -> TypedTerm:
    parts = [prove_whole(prover, part) for part in given]
    return exp.Array(expressions=[node for node, _ in parts]), array_of(_common([type_ for _, type_ in parts]))


def _map(prover: Prover, given: Sequence[exp.Expr]) -> TypedTerm:
    keys, values = given[::2], given[1::2]
    if len(keys) != len(values) or not all(isinstance(key, exp.Literal) for key in keys):
        raise Unproven("MAP of keys that are not written out")
    if len({(key.is_string, key.this) for key in keys}) < len(keys):
        raise Unproven("MAP with a key twice")
    proven = [[prove_whole(prover, part) for part in parts] for parts in (keys, values)]
    types = [_common([type_ for _, type_ in parts]) for parts in proven]
    if types[0] not in (VOID, DataType("string"), DataType("int"), DataType("bigint")):
        raise Unproven(f"MAP of {types[0]}")
    lists = [exp.Array(expressions=[node for node, _ in parts]) for parts in proven]
    return exp.Anonymous(this="map", expressions=lists), map_of(*types)


def _named_struct(prover: Prover, given: Sequence[exp.Expr]) -> TypedTerm:
    names, values = given[::2], given[1::2]
    if len(names) != len(values) or not all(isinstance(name, exp.Literal) and name.is_string for name in names):
        raise Unproven("NAMED_STRUCT of names that are not written out")
    parts = [prove_whole(prover, value) for value in values]
    try:
        type_ = struct_of([(name.this, t or VOID) for name, (_, t) in zip(names, parts, strict=True)])
    except InvalidRequest as error:
        raise Unproven(f"NAMED_STRUCT: {error.message}") from error
    return struct_built({name.this: node for name, (node, _) in zip(names, parts, strict=True)}), type_


_MAKERS: Mapping[str, Callable[[Prover, Sequence[exp.Expr]], TypedTerm]] = {
    "array": _array,
    "map": _map,
    "named_struct": _named_struct,
}


def _common(types: Sequence[DataType | None]) -> DataType:
    """The one type of all parts, nulls aside; refuse parts that Spark would have to cast."""
    found = VOID
    for type_ in types:
        found = _joined(found, type_ or VOID)
    return found


def _joined(one: DataType, other: DataType) -> DataType:
    if VOID in (one, other) or one == other:
        return one if other == VOID else other
    if not one.is_nested or one.name != other.name or [f.name for f in one.fields] != [f.name for f in other.fields]:
        raise Unproven(f"parts of {one} and {other}")
    fields = [Field(a.name, _joined(a.type, b.type)) for a, b in zip(one.fields, other.fields, strict=True)]
    return DataType(one.name, fields=tuple(fields))
