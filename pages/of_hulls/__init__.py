"""The parts of the Hulls page."""
