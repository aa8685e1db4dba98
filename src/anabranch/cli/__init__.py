"""The command line: `anabranch`, and `ana` for short. One command per file; what a command does is in repo."""
