"""Sessions that outlive the process: each change is in the store before its reply.

It is loaded where the server keeps sessions: routes need only `change`.

lasting: what the store has of one session. redo: a change run again. awake: a session read back,
and put aside. change: work on a session whose changes are kept. keeper: all of them together.
"""

from gradwire_service.http.durable.change import Pace, changed, changing, need_store, patched

__all__ = ["Pace", "changed", "changing", "need_store", "patched"]
