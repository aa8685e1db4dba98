"""Run SQL statements by the verbs; the namespace `ana`."""
