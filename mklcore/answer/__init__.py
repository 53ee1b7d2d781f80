"""One answer for a table: which columns matter, how much, and how sure that is."""
