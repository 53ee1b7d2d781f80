"""The server's door, its start and its end. It knows of no values and of no widgets."""
