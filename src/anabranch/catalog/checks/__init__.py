"""What verify checks in the rows of the catalogue. Each check yields damages; none changes anything."""
