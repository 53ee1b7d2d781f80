"""What leaves: code, notebook, formula, report, figure, specification."""
