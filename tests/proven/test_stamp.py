"""The stamp of the proofs follows code, not prose."""

from __future__ import annotations

import pytest

from tests.proven.stamp import without_prose

MODULE = '"""Says something."""\n\nx = "# no comment"  # a comment\n\n\ndef f():\n    """Do it."""\n    return x\n'


def test_comments_and_docstrings_are_left_out():
    assert without_prose(MODULE) == 'x = "# no comment"\ndef f():\n    return x'


@pytest.mark.parametrize(("old", "new"), [("a comment", "another"), ("Do it.", "Do\n    it."), ("\n\n\n", "\n")])
def test_another_wording_is_the_same_code(old, new):
    assert without_prose(MODULE.replace(old, new)) == without_prose(MODULE)


@pytest.mark.parametrize(("old", "new"), [("# no comment", "# none"), ("return x", "return -x"), ("def f", "def g")])
def test_another_line_of_code_is_other_code(old, new):
    assert without_prose(MODULE.replace(old, new)) != without_prose(MODULE)
