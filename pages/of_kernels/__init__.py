"""The parts of the Kernels page."""
