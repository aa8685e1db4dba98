"""objects on the command line."""

from __future__ import annotations

from tests.cli.conftest import Ana


def test_objects_are_listed_and_found_by_the_beginning_of_their_ids(shop: Ana) -> None:
    found = shop("objects", "ls", "orders", "--json").json["objects"]
    assert {o["name"] for o in found} == {"orders"}
    assert all(o["here"] for o in found)
    assert shop("objects", "where", found[0]["id"][:12]).out.strip() == found[0]["where"]
    assert shop("objects", "download").out == "fetched 0 objects (0 B)\n"
    assert shop("objects", "evict").out == "removed 0 copies (0 B)\n"
    assert "no object 'zzz'" in shop("objects", "where", "zzz", fails=3).err
