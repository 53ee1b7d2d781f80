"""What leaves the app and what it saves: scripts, files, uploads and screens."""
