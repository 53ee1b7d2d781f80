"""Parameters in, objects of the library out. It draws nothing."""
