"""Jobs, and what the server imports: they begin once it is over.

Two threads that enter a package and one of its modules at once would find it half made.
"""

import threading

OVER = threading.Event()
OVER.set()  # unless a server has begun
