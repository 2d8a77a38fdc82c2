"""The command `gradwire`, also as `python -m gradwire_service`."""

from __future__ import annotations

import sys

SERVER_ONLY = {"fastapi", "orjson", "pydantic_settings", "rich", "structlog", "typer", "uvicorn"}


def main() -> None:
    """Run the command line, or say how to get it where only the SDK is installed."""
    try:
        from gradwire_service.cli import main as run
    except ModuleNotFoundError as missing:
        if missing.name not in SERVER_ONLY:
            raise
        sys.exit(
            f"gradwire: the command line needs {missing.name}, which comes with the server: "
            "pip install 'gradwire[server]'"
        )
    run()


if __name__ == "__main__":
    main()
