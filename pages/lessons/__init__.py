"""Lessons: guess, reveal, why."""
