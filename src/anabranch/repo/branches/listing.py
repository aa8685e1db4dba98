"""Listings from the catalogue alone: tables, namespaces, tags."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.catalog import branches, entries, history
from anabranch.model.commits import Tag
from anabranch.model.listings import Listing
from anabranch.model.names import split_namespace
from anabranch.model.tables import TableEntry
from anabranch.repo.branches.refs import resolve
from anabranch.repo.context.context import Context
from anabranch.repo.context.table_state import find_namespace, list_tables, names_below


def list_tables_at(ctx: Context, at: str | None, namespace: str | None) -> list[TableEntry]:
    """List tables at a ref, with their sizes."""
    with ctx.catalog.read() as cx:
        found = list_tables(ctx, cx, history.clock(cx, resolve(ctx, cx, at)), namespace)
    return Listing(found, ("name", "row_count", "column_count", "key"))


def list_namespaces(ctx: Context, at: str | None) -> list[str]:
    """List namespaces at a ref, nested ones with their path."""
    with ctx.catalog.read() as cx:
        clock = history.clock(cx, resolve(ctx, cx, at))
        return sorted(name for name, named in names_below(ctx, cx, clock) if named.kind == "namespace")


def namespace_properties(ctx: Context, name: str, at: str | None) -> dict[str, str]:
    """Read the properties of a namespace at a ref."""
    above, own = split_namespace(name)
    with ctx.catalog.read() as cx:
        clock = history.clock(cx, resolve(ctx, cx, at))
        entry = entries.find_entry(cx, clock, find_namespace(ctx, cx, clock, (*above, own)))
    return dict(entry.attributes.get("properties", {})) if entry else {}


def list_tags(ctx: Context, showing: Sequence[str] | None = None) -> list[Tag]:
    """List the tags by name: all, or those that name one of the given commits."""
    with ctx.catalog.read() as cx:
        found = branches.describe_tags(cx, ctx.record.id, showing)
    return Listing(found, ("name", "commit", "created_at", "author", "message"))
