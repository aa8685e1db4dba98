"""The first example of each page, as a newcomer runs it, and what the page takes for granted before it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).parent.parent
Way = Literal["session", "script", "shell", "text"]


@dataclass(frozen=True)
class FirstStep:
    """How the first example of a page is run: as a session of Python, a script, or lines of a shell."""

    way: Way
    before: str = ""
    """What is there before, written in Python (for the shell: in its language)."""
    after: str = ""
    """What looks at the outcome, in the same language, and fails if it is wrong."""
    needs_java: bool = False
    needs_servers: bool = False
    """Whether it names a database and a bucket, which the test has to put in."""


_SHOP = """
import anabranch as ab
repo = ab.init("shop")
with repo.commit("main", "load") as tx:
    orders = [{"id": n, "day": n % 3, "qty": n} for n in range(9)]
    tx.create_table("orders", orders, key="id")
    tx.create_table("stopwords", [{"word": "the"}], key="word")
    tx.files.put("raw/a.txt", "the tea\\nthe mug\\n")
repo.tag("v1")
"""
_BRANCH = """
repo.branch("dev")
for n in range(4):
    with repo.commit("dev", f"number {n}") as tx:
        tx.table("orders").update({"qty": "qty + 10"}, where=f"id = {n}")
"""
_FILES = """
mkdir -p shop data logs && cd shop && ana init && cd ..
cat > make.py <<'END'
import gzip, json, pathlib
import anabranch as ab
import pyarrow as pa, pyarrow.parquet as pq
rows = "id,price\\n{},20\\n"
for name, first in (("data/a.csv", 1), ("day1.csv", 2), ("today.csv", 3)):
    pathlib.Path(name).write_text(rows.format(first))
pathlib.Path("logs/a.csv.gz").write_bytes(gzip.compress(rows.format(4).encode()))
pathlib.Path("dump.gz").write_bytes(gzip.compress(rows.format(5).encode()))
with pa.CompressedOutputStream("day2.jsonl.zst", "zstd") as out:
    out.write(json.dumps({"id": 6, "price": 7}).encode() + b"\\n")
pq.write_table(pa.table({"id": [8], "price": [9]}), "old.parquet")
END
python make.py
export ANABRANCH_STORE=shop
"""

FIRST_STEPS = {
    "README.md": FirstStep("session"),
    "docs/commands.md": FirstStep("text"),
    "docs/cookbook.md": FirstStep("session"),
    "docs/files.md": FirstStep("session"),
    "docs/import-export.md": FirstStep("shell", _FILES, "test -s orders.csv"),
    "docs/jobs.md": FirstStep(
        "script",
        _SHOP,
        'assert sorted(r["word"] for r in repo.table("words").rows()) == ["mug", "tea"], repo.table("words").rows()',
        needs_java=True,
    ),
    "docs/merge.md": FirstStep(
        "script", _SHOP + _BRANCH, 'assert [c.message for c in repo.log("dev", limit=1)] == ["prices of May"]'
    ),
    "docs/pipelines.md": FirstStep("script", _SHOP, 'assert repo.table("daily").count() == 3', needs_java=True),
    "docs/spark.md": FirstStep(
        "script", _SHOP + "spark = repo.spark_session\n", "assert orders.count() == 9", needs_java=True
    ),
    "docs/sql.md": FirstStep("session"),
    "docs/stores.md": FirstStep(
        "shell",
        """
mkdir shop there && cd shop && ana init
printf 'id\\n1\\n' | ana import orders - --format csv --key id -m "first orders"
""",
        "ana log",
        needs_servers=True,
    ),
    "docs/upkeep.md": FirstStep("script", _SHOP),
}
"""The pages without an example in a block are not here."""


def first_example(page: str) -> str:
    """The first block of code of a page; empty if it has none."""
    found = re.search(r"^```\w*\n(.*?)^```", (ROOT / page).read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    return found[1] if found else ""


def pages() -> list[str]:
    """README and the pages of docs, those of the design left out."""
    return ["README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]
