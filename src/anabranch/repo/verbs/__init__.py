"""The verbs of a repository, in groups: one line each, as every verb has a file of its own below."""
