"""After a fork, the child leaves its parent's connections and threads alone, and makes its own."""

from __future__ import annotations

import os
from weakref import WeakValueDictionary

from anabranch.repo.context.context import Context

_opened: WeakValueDictionary[int, Context] = WeakValueDictionary()


def start_anew_after_fork(ctx: Context) -> None:
    """Keep an open repository usable in forked processes."""
    _opened[id(ctx)] = ctx


def _start_anew() -> None:
    for ctx in list(_opened.values()):
        ctx.catalog.start_anew()
        ctx.engines.start_anew()


if hasattr(os, "register_at_fork"):  # Not on Windows.
    os.register_at_fork(after_in_child=_start_anew)
