"""What pages draw with: controls, grids, figures and players."""
