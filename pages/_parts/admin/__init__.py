"""Admin: the page of the person who runs the server, behind a password: what is held, and what may go."""
