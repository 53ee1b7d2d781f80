"""What several pages draw: figures, tables, controls of the registry, the evidence at a cursor."""
