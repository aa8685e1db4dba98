"""The JSON shapes that commands and the server share; they only ever grow."""
