"""Manifests link very many row objects: few catalogue rows to open a table, one manifest to find a key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from anabranch.model.content import Content
from anabranch.model.ids import ObjectId, new_id
from anabranch.model.layers import Layers
from anabranch.model.objects import Layer, Members, NewObject, StoredObject, around
from anabranch.objects.manifests import encode_manifest
from anabranch.repo.context.context import Context

Turned = tuple[int, ObjectId]
"""An object with its turn, or step."""


def with_manifests(ctx: Context, content: Content) -> tuple[Content, list[NewObject]]:
    """A commit's content with manifests where it would link too many objects, and the manifests made."""
    made: list[NewObject] = []
    changes, views = [], {v.thing_id: v for v in content.views}
    for change in content.changes:
        steps = change.steps or (0,) * len(change.objects)
        linked, new = gathered(ctx, list(zip(steps, change.objects, strict=True)), content.described)
        made += new
        turns, objects = (tuple(part) for part in zip(*linked, strict=True)) if new else ((), ())
        changes.append(replace(change, objects=objects, steps=turns if change.steps else ()) if new else change)
        if new and (view := views.get(change.thing_id)):
            views[change.thing_id] = replace(view, objects=objects, turns=turns if view.turns else ())
    if not made:
        return content, made
    objects, described = (*content.objects, *made), {**content.described, **{o.stored.id: o.stored for o in made}}
    content = replace(
        content, changes=tuple(changes), views=tuple(views.values()), objects=objects, described=described
    )
    return content, made


def gathered(
    ctx: Context, linked: Sequence[Turned], described: Mapping[ObjectId, StoredObject]
) -> tuple[tuple[Turned, ...], list[NewObject]]:
    """The links, with manifests in place of row objects where one turn has too many."""
    limit = ctx.settings.objects.manifest_object_limit
    turns: dict[int, list[StoredObject]] = {}
    for turn, id_ in linked:
        if described[id_].kind == "rows":
            turns.setdefault(turn, []).append(described[id_])
    inside: dict[Turned, ObjectId] = {}
    made: list[NewObject] = []
    try:
        for turn, objects in turns.items():
            for part in _parts(objects, limit) if len(objects) > limit else ():
                made.append(_manifest(ctx, part))
                inside |= {(turn, o.id): made[-1].stored.id for o in part}
    except BaseException:
        ctx.discard(made)
        raise
    return tuple(dict.fromkeys((turn, inside.get((turn, id_), id_)) for turn, id_ in linked)), made


def unchanged_manifests(before: Layers, shown: Sequence[Layer]) -> tuple[list[Layer], list[Layer]]:
    """The manifests whose objects are all shown unchanged, and the other layers shown."""
    turns = {x.object.id: (x.turn, x.view) for x in shown}
    kept: list[Layer] = []
    for manifest in before.manifests:
        inside = before.listed_in(manifest.object.id)
        if all(turns.get(x.object.id) == (manifest.turn, manifest.view) for x in inside):
            kept.append(manifest)
            for x in inside:
                del turns[x.object.id]
    return kept, [x for x in shown if x.object.id in turns]


def _parts(objects: Sequence[StoredObject], limit: int) -> Iterable[list[StoredObject]]:
    """Split objects of one schema, sorted by key, into parts of at most `limit`."""
    alike: dict[tuple[object, ...], list[StoredObject]] = {}
    for o in objects:
        alike.setdefault((o.schema_id, o.touched, o.key_range is None), []).append(o)
    for group in alike.values():
        group.sort(key=lambda o: o.key_range.low if o.key_range else ())
        yield from (group[n : n + max(limit, 1)] for n in range(0, len(group), max(limit, 1)))


def _manifest(ctx: Context, objects: list[StoredObject]) -> NewObject:
    file = ctx.root.put(encode_manifest(objects))
    first = objects[0]
    described = (ObjectId(new_id("o")), "manifest", file.sha256, file.size_bytes, 0)
    stored = StoredObject(*described, first.schema_id, None, first.touched, "root", file.path)  # type: ignore[arg-type]
    return NewObject(replace(stored, **totals(objects)), listed=tuple(o.id for o in objects))


def totals(objects: Sequence[StoredObject]) -> dict[str, Any]:
    """A manifest's totals over its objects, for its row in the catalogue."""
    inline = sum(o.place == "inline" for o in objects)
    return {
        "row_count": sum(o.row_count for o in objects),
        "key_range": around(o.key_range for o in objects),
        "members": Members(len(objects), sum(o.size_bytes for o in objects), inline),
    }
