"""Background work: the one specification of a job, how far it has come, and the threads that do it.

No session is known here.
"""
