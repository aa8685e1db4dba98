"""The tests, mirroring the rooms of src/anabranch; most need no JVM."""
