"""Keeper: the page of whoever keeps the server, behind a password: what is held, and what may go."""
