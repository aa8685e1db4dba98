"""The command line: `anabranch`, or `ana` for short. One file per command; what a command does is in repo."""
