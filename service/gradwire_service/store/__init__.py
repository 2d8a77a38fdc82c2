"""What outlives the process: sessions as snapshots and logs, programs, replies; in a database.

It knows rows and bytes, and nothing of what a session is.
"""
