"""Merge, and the verbs that are merges: cherry-pick, revert, rebase, restore."""
