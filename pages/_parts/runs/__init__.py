"""Kept work: the store, what of a result is kept, the session's side of it, and its corner on the screen."""
