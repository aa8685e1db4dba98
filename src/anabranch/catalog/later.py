"""SQLAlchemy and the catalogue's tables, imported on first use: short reads need neither."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlalchemy as sa
    from sqlalchemy import Connection

    from anabranch.catalog import remote_tables
    from anabranch.catalog import tables as t
else:

    class _Later:
        """A module that is imported when one of its names is first used."""

        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, name: str) -> Any:
            found = getattr(import_module(self._name), name)
            self.__dict__[name] = found
            return found

    sa, t = _Later("sqlalchemy"), _Later("anabranch.catalog.tables")
    remote_tables = _Later("anabranch.catalog.remote_tables")
    Connection = Any

__all__ = ["Connection", "remote_tables", "sa", "t"]
