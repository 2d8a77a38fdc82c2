"""Sessions that outlive the process: each change is in the store before its reply.

It is loaded where a server keeps sessions; it knows nothing of HTTP.

log: what the store has of one session. change: work on a session, written or undone. replay: a
change run again, and digest: whether it gave the same. machine: what that depends on. recovery: a
session read back; parking: when, and when it is put aside. programs, replies: what else is kept.
keeper: all of it together.
"""
