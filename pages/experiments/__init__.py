"""Experiments: the tables and figures of the papers, run and recorded."""
