"""verify: every object is there and is what was written."""

from __future__ import annotations

import hashlib

from anabranch.catalog import liveness, objects
from anabranch.errors import Corrupt
from anabranch.repo.context.context import Context
from anabranch.settings import VERIFIED_AT_ONCE


def verify(ctx: Context) -> int:
    """Hash every object again; the first that differs is told as Corrupt."""
    with ctx.catalog.read() as cx:
        found = liveness.objects_of(cx, ctx.record.id)
        broken = liveness.broken_links(cx, ctx.record.id)
    if broken:
        message = f"the catalogue links {len(broken)} objects that it does not have, such as {broken[0]}"
        raise Corrupt(message, hint="restore it from a backup")
    inline = [o for o in found if o.place == "inline"]
    for start in range(0, len(inline), VERIFIED_AT_ONCE):
        chunk = inline[start : start + VERIFIED_AT_ONCE]
        with ctx.catalog.read() as cx:
            contents = objects.contents(cx, [o.id for o in chunk])
        for o in chunk:
            if hashlib.sha256(contents.get(o.id, b"")).hexdigest() != o.sha256:
                raise Corrupt(f"object {o.id} in the catalogue is missing or damaged", hint="restore from a backup")
    for o in found:
        if o.place == "root" and o.path:
            ctx.root.check(o.path, o.size_bytes, o.sha256)
    return len(found)
