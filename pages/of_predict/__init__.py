"""The parts of the Predict page."""
