"""A store that an older version made, kept as a file: put back into a database, and all that it has to tell.

`format3.zip` has the tables as SQL (`sqlite.sql`, `postgresql.sql`), their rows (`rows.json`), the object root and what
the version that made it told of it (`told.json`): merges with and without conflicts, a revert, folds, a snapshot, an
open commit, an open merge, a dropped table, a table without a key, two repositories.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, MetaData

import anabranch as ab

FORMAT_3 = Path(__file__).with_name("format3.zip")


def restore(cx: Connection, objects: Path, kept: Path = FORMAT_3) -> None:
    """Write the rows of a kept store into an empty database, and its files into a folder."""
    with zipfile.ZipFile(kept) as archive:
        for statement in archive.read(f"{cx.dialect.name}.sql").decode().split(";\n"):
            cx.exec_driver_sql(statement)
        found = MetaData()
        found.reflect(cx)
        for table, rows in json.loads(archive.read("rows.json")).items():
            if rows:
                cx.execute(found.tables[table].insert(), [{k: _value(v) for k, v in row.items()} for row in rows])
        for name in archive.namelist():
            if name.startswith("objects/"):
                place = objects / name.removeprefix("objects/")
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(archive.read(name))


def _value(value: Any) -> Any:
    return bytes.fromhex(value["bytes"]) if isinstance(value, dict) and value.keys() == {"bytes"} else value


def told_before(kept: Path = FORMAT_3) -> dict[str, Any]:
    """What the version that made the store told of it."""
    with zipfile.ZipFile(kept) as archive:
        return json.loads(archive.read("told.json"))  # type: ignore[no-any-return]


def tell(repo: ab.Repository) -> dict[str, Any]:
    """All that a repository says of itself: log, rows of every table at every commit, differences, blame."""
    log = repo.log()
    told = {c.hash: [c.author, c.message, str(c.finished_at), c.parents, c.tables, c.provenance] for c in log}
    names = {c.hash: [table.name for table in repo.tables(c.hash)] for c in log}
    rows = {f"{n}@{c}": _digest(repo.table(n, c).rows()) for c, there in names.items() for n in there}
    newest, oldest = log[0].hash, log[-1].hash
    whole = repo.diff(oldest, newest)
    diff = {n: [whole[n].change, _digest(whole[n].rows())] for n in whole.tables}
    found = {c.hash: repo.diff(c.parents[0], c.hash) for c in log if c.parents}
    steps = {commit: {n: d[n].counts() for n in d.tables} for commit, d in found.items()}
    return _plain(
        {
            "log": told,
            "rows": rows,
            "diff": diff,
            "steps": steps,
            "blame": {n: _digest([b.key, b.commit.hash, b.row] for b in repo.blame(n).rows()) for n in names[newest]},
            "branches": [[b.name, b.commit] for b in repo.branches()],
            "tags": [[x.name, x.commit, x.author] for x in repo.tags()],
            "moves": [[m.before, m.after, m.verb] for m in repo.reflog("main")],
            "open": [o.message for o in repo.open_commits()],
            "merges": [m.conflicts.count for m in repo.open_merges()],
        }
    )


def _digest(rows: Any) -> str:
    text = "\n".join(sorted(json.dumps(_plain(row), sort_keys=True) for row in rows))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str))
