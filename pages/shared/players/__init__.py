"""What moves in the browser without the server: the players of a path, of methods, of hulls and of lessons."""
