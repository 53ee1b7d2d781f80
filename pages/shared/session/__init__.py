"""What a tab remembers: parameters, link, undo. It knows of no work and of no library object."""
