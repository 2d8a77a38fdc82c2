"""The tables, and the version of what is in them."""

from __future__ import annotations

from sqlalchemy import (
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
)

FORMAT = 1
"""A newer server reads all older formats; one more for whatever an older server can't read."""

_all = MetaData()

about = Table(
    "gradwire",
    _all,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)
sessions = Table(
    "sessions",
    _all,
    Column("id", Text, primary_key=True),
    Column("tenant", Text, nullable=False),
    Column("base", Integer, nullable=False),
    Column("about", Text, nullable=False),
    Column("file", Text),
    Column("body", LargeBinary),
    Column("sum", LargeBinary, nullable=False),
    Column("check", LargeBinary, nullable=False),
)
"""base: the number of the last change that the snapshot has. Its bytes are in `body`, or in `file`.
sum is the checksum of these bytes, check that of the rest of the row."""
log = Table(
    "log",
    _all,
    Column("session", Text, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("at", Float, nullable=False),
    Column("names", Integer, nullable=False),
    Column("about", Text, nullable=False),
    Column("file", Text),
    Column("body", LargeBinary),
    Column("sum", LargeBinary, nullable=False),
    Column("check", LargeBinary, nullable=False),
)
"""A change for each row, numbered from 1 on. names: how many names the session then had."""
programs = Table(
    "programs",
    _all,
    Column("tenant", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("serial", Integer, nullable=False),
    Column("created", Float, nullable=False),
    Column("gone", Float),
    Column("text", Text, nullable=False),
    Column("check", LargeBinary, nullable=False),
)
"""gone: when the program was deleted, which a log may still name."""
replies = Table(
    "replies",
    _all,
    Column("place", LargeBinary, primary_key=True),
    Column("tenant", Text, nullable=False),
    Column("at", Float, nullable=False),
    Column("about", Text, nullable=False),
    Column("body", LargeBinary),
    Column("check", LargeBinary, nullable=False),
    Index("replies_at", "at"),
)
pieces = Table(
    "pieces",
    _all,
    Column("name", Text, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("data", LargeBinary, nullable=False),
)
"""Large bodies, where they have no folder to lie in."""

create_all = _all.create_all
