"""What leaves: code, notebook, model, proof, figure, one file that moves."""
