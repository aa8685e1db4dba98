"""The texts of the catalogue's prepared statements for SQLite: `python -m tests.prepared_texts` writes them again."""

from __future__ import annotations

import json
import pkgutil
from dataclasses import asdict
from importlib import import_module

import anabranch.catalog
from anabranch.catalog.prepared import EVERY, TEXTS


def texts() -> str:
    """What the file has to say: each statement that reads, by its name."""
    for found in pkgutil.iter_modules(anabranch.catalog.__path__, "anabranch.catalog."):
        import_module(found.name)
    reading = {name: asdict(made.rendered()) for name, made in sorted(EVERY.items()) if made.statement.is_select}
    return json.dumps(reading, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    TEXTS.write_text(texts(), encoding="utf-8")
