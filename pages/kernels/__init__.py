"""Kernels: which views of the data the model may combine."""
