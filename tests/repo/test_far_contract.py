"""The contract of the engines with every object in a file on S3: what `--far` runs, in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.connect import ROOT


def far(*chosen: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "--far", "--quiet", "-p", "no:cacheprovider", *chosen]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=3600)


@pytest.mark.usefixtures("s3_server")  # it starts one of its own: with the others that do, one after the other
def test_a_sample_of_the_contract_holds_on_s3_in_the_process() -> None:
    done = far("-m", "connect", "-k", "duck", "tests/repo/write")
    assert done.returncode == 0, done.stdout[-20_000:]
    assert " passed" in done.stdout.splitlines()[-1]


@pytest.mark.more
@pytest.mark.jvm
def test_the_contract_holds_on_s3_on_both_engines() -> None:
    done = far("--all", "-m", "contract", "tests/repo")
    assert done.returncode == 0, done.stdout[-20_000:]
    assert " passed" in done.stdout.splitlines()[-1]
