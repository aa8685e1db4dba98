"""The hash of a function's code is the same in every process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from anabranch.jobs.code import code_hash
from tests.connect import ROOT

_HASHES = """
from anabranch.jobs.code import code_hash

def keeping(words):
    def keep(word, known={"one", "two", "three"}, more=[frozenset("abc"), {"n": {"d", "e", "f"}}]):
        return word in words or word in known or more
    return keep

typed = {}
exec("def keep(word): return word in {'one', 'two', 'three'}", typed)
print(code_hash(keeping({"four", "five", "six"})), code_hash(typed["keep"]))
"""


def test_sets_are_hashed_the_same_in_every_process(tmp_path: Path) -> None:
    script = tmp_path / "hashes.py"
    script.write_text(_HASHES)
    assert len({_printed(script, seed) for seed in "123"}) == 1


def _printed(script: Path, seed: str) -> str:
    env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run([sys.executable, script], env=env, check=True, capture_output=True, text=True).stdout


def test_other_elements_of_a_set_are_other_code() -> None:
    def keeping(words: object) -> object:
        return lambda word: word in words  # type: ignore[operator]

    found = [
        {"a"},
        {"a", "b"},
        frozenset({"a", "b"}),
        ("a", "b"),
        [{"a"}],
        [{"b"}],
        ({"b"},),
        {"a": {"b"}},
        {"a": {"c"}},
    ]
    assert len({code_hash(keeping(words)) for words in found}) == len(found)  # type: ignore[arg-type]
