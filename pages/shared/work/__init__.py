"""Work in the background: whose turn it is, what is kept, and on which machine. It knows of no page."""
