"""The verbs of a repository, in groups: one line each, for every verb has a file of its own below."""
