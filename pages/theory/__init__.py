"""Theory: bounds and rates, with this table's numbers."""
