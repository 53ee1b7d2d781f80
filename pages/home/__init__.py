"""Start: a truth that one makes, the place for a table, and the samples."""
