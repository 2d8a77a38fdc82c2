"""The bare route: FastAPI, async, the raw body read and a ready reply sent.

`python -m benchmarks.peers.bare PORT`; the reply is the file that BARE_REPLY names, sent as
BARE_TYPE; without one it is empty.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import uvicorn
from fastapi import FastAPI, Request, Response

REPLY = Path(os.environ["BARE_REPLY"]).read_bytes() if "BARE_REPLY" in os.environ else b""
TYPE = os.environ.get("BARE_TYPE", "application/json")

app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)


@app.post("/")
async def exchange(request: Request) -> Response:
    """Read the body to its end, send the ready reply."""
    await request.body()
    return Response(REPLY, media_type=TYPE)


@app.post("/up")
async def up(request: Request) -> Response:
    """Read the body to its end and send nothing."""
    await request.body()
    return Response()


@app.get("/down")
async def down() -> Response:
    """Send the ready reply."""
    return Response(REPLY, media_type=TYPE)


@app.get("/ready")
async def ready() -> Response:
    """Say that the app has started."""
    return Response()


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error", access_log=False)
