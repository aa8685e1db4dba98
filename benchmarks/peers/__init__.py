"""The ten tasks of a table's life, by Anabranch and by others in one run: `make bench-peers`."""
