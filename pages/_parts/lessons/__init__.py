"""The parts of the Lessons page."""
