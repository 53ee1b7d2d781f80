"""Scripts that measure, each run by hand; tests reuse the problems they draw."""
