"""What stands around every page: heading, notices, presentation."""
