"""SQL statements, run through the verbs; and the namespace `ana`."""
