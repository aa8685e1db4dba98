"""SQLAlchemy's engines for a catalogue in a file and on a server."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from anabranch.catalog import files
from anabranch.catalog.json_values import decode, encode_for_file
from anabranch.catalog.later import sa
from anabranch.errors import InvalidRequest, Unavailable, install_hint
from anabranch.model.addresses import Address
from anabranch.settings import COMPILED_STATEMENTS, ServerSettings

if TYPE_CHECKING:
    from sqlalchemy import Engine
    from sqlalchemy.engine import URL


def engine_of_file(path: str, connect: Callable[[], files.FileConnection], **options: Any) -> Engine:
    url = sa.URL.create("sqlite", database=path)
    as_json = {"json_serializer": encode_for_file, "json_deserializer": decode}
    engine = sa.create_engine(url, execution_options=_shared(), **as_json, **options)
    sa.event.listen(engine, "do_connect", lambda *_: connect())
    sa.event.listen(engine, "checkin", _forget_frozen)
    return engine


def engine_of_server(address: Address, waits: ServerSettings) -> Engine:
    try:
        url = url_of(address)
        arguments = {k: v for k, v in _connecting(waits).items() if k not in url.query}
        engine = sa.create_engine(url, pool_pre_ping=True, connect_args=arguments, execution_options=_shared())
    except (sa.exc.ArgumentError, sa.exc.NoSuchModuleError, ValueError):
        # The text is neither repeated nor chained: it may hold a password.
        raise InvalidRequest(f"{address.shown} does not name a catalogue", hint="check its query") from None
    except ModuleNotFoundError as error:
        raise Unavailable("PostgreSQL needs psycopg", hint=install_hint("postgres")) from error
    sa.event.listen(engine, "connect", partial(_prepare_server, milliseconds(waits.lock_timeout_seconds)))
    return engine


@cache
def _shared() -> dict[str, Any]:
    """One cache of compiled statements for all stores of the process."""
    from sqlalchemy.util import LRUCache

    class Compiled(LRUCache[Any, Any]):
        """Statements by the name and version of the dialect: each store has an object of its own for it."""

        def get(self, key: Any, default: Any = None) -> Any:
            return super().get(_named(key), default)

        def __setitem__(self, key: Any, value: Any) -> None:
            super().__setitem__(_named(key), value)

    return {"compiled_cache": Compiled(COMPILED_STATEMENTS)}


def _named(key: tuple[Any, ...]) -> tuple[Any, ...]:
    dialect, *rest = key
    return dialect.name, getattr(dialect, "server_version_info", None), *rest


def url_of(address: Address) -> URL:
    """The address as SQLAlchemy takes it. We parse it, so that what connects is what messages hide the secrets of."""
    given = [name for name, _ in address.query]
    query = {name: tuple(v for n, v in address.query if n == name) for name in given}
    options = {name: found[0] if len(found) == 1 else found for name, found in query.items()}
    host, database = address.host or None, address.database or None
    return sa.URL.create("postgresql+psycopg", address.user, address.password, host, address.port, database, options)


def _connecting(waits: ServerSettings) -> dict[str, int]:
    """Connection options for a server, as libpq names them."""
    return {
        "connect_timeout": waits.connect_timeout_seconds,
        "keepalives": 1,
        "keepalives_idle": waits.keepalive_idle_seconds,
        "keepalives_interval": waits.keepalive_interval_seconds,
        "keepalives_count": waits.keepalive_count,
    }


def _prepare_server(lock_timeout: int, connection: Any, _record: Any) -> None:
    connection.execute(f"SET lock_timeout = {lock_timeout}")
    connection.commit()


def milliseconds(seconds: float) -> int:
    """A time as PostgreSQL takes it; one above zero stays above zero."""
    return max(1, round(seconds * 1000)) if seconds else 0


def _forget_frozen(connection: Any, record: Any) -> None:
    """Make the next transaction reconnect to a file that is read as it was when opened."""
    if getattr(connection, "frozen", None) is not None:
        record.invalidate()
