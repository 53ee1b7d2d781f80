"""Work in the background: who does it, how it is started, followed and cancelled, and how it is shown."""
