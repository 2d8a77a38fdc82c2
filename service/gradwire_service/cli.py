"""The command line. What a command needs, it imports: `gradwire ops` needs no server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from gradwire_engine.errors import GradwireError

app = typer.Typer(
    help="Autograd as a service.", no_args_is_help=True, add_completion=False,
    pretty_exceptions_enable=False,
)  # fmt: skip


def _version(asked: bool) -> None:
    if asked:
        from gradwire_service.version import VERSION

        typer.echo(f"gradwire {VERSION}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it and stop.")
    ] = False,
) -> None:
    """Autograd as a service."""


Server = Annotated[
    str | None, typer.Option("--server", help="The URL of a server; without it the file runs here.")
]
Key = Annotated[
    str | None, typer.Option(envvar="GRADWIRE_KEY", help="The key to send to the server.")
]


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="The address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="The port; 0 takes a free one.")] = None,
    uds: Annotated[str | None, typer.Option(help="A Unix socket to listen on instead.")] = None,
    log: Annotated[str | None, typer.Option(help="auto, json, text or none.")] = None,
    workers: Annotated[int | None, typer.Option(help="Threads that compute.")] = None,
    body_bytes: Annotated[int | None, typer.Option(help="The largest body.")] = None,
    session_bytes: Annotated[int | None, typer.Option(help="What a session may hold.")] = None,
    server_bytes: Annotated[int | None, typer.Option(help="What all of them may hold.")] = None,
    seconds: Annotated[float | None, typer.Option(help="How long a request may compute.")] = None,
    keys_file: Annotated[
        Path | None, typer.Option("--keys-file", help="The file of gradwire keys.")
    ] = None,
    allowed_hosts: Annotated[
        str | None, typer.Option(help="Names it may be called by beside localhost, with commas.")
    ] = None,
    allowed_origins: Annotated[
        str | None, typer.Option(help="Sites whose pages may call it, with commas.")
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="Where sessions are kept: a folder, or a URL of PostgreSQL.")
    ] = None,
    insecure: Annotated[
        bool | None, typer.Option("--insecure", help="Let other machines in without keys.")
    ] = None,
) -> None:
    """Run the server until SIGTERM or Ctrl-C. Everything else is set by GRADWIRE_* variables."""
    given = {name: value for name, value in locals().items() if value is not None}
    from gradwire_engine.collector import importing

    with importing():
        from gradwire_service.http.serve import serve as run_server

    _settled(lambda: run_server(given))


@app.command()
def ops(name: Annotated[str | None, typer.Argument(help="One op, in full.")] = None) -> None:
    """List the ops of the catalogue, or say all of one."""
    from gradwire_service.commands.ops import show

    _settled(lambda: show(name))


@app.command()
def run(
    file: Annotated[Path, typer.Argument(help="Steps as JSON (.json), or source text.")],
    server: Server = None,
    key: Key = None,
) -> None:
    """Run a file of steps and print what it returns, or every name that its source text gives.

    Programs that the steps run, as bodies of loops, stand in the file by name, each before those
    that run it: {"programs": {"body": {…}}, "steps": […]}. A server keeps them, as any program.
    """
    from gradwire_service.commands.run import run as run_file

    _settled(lambda: run_file(file, server, key))


@app.command()
def graph(
    file: Annotated[Path, typer.Argument(help="Steps as JSON (.json), or source text.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A .svg, .dot, .mmd, .md or .json file.")
    ] = None,
    server: Server = None,
    key: Key = None,
) -> None:
    """Run a file of steps and draw the graph that it leaves; the file may be any that run takes."""
    from gradwire_service.commands.run import draw

    _settled(lambda: draw(file, out, server, key))


@app.command()
def top(
    session: Annotated[
        str | None, typer.Argument(help="The id or label of a session: its tensors are shown.")
    ] = None,
    *,
    server: Annotated[
        str, typer.Option("--server", envvar="GRADWIRE_URL", help="The URL of the server.")
    ] = "http://127.0.0.1:8000",
    key: Annotated[
        str | None,
        typer.Option(
            envvar="GRADWIRE_KEY",
            help="The key to send: its tenant's sessions are listed; operator's counts all.",
        ),
    ] = None,
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between looks.")] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Look once, and list all.")] = False,
) -> None:
    """Show a server's sessions, or the tensors of one by name, again and again until Ctrl-C."""
    from gradwire_service.commands.top import top as show_top

    _settled(lambda: show_top(server, key, every, once, session))


keys = typer.Typer(help="API keys: make, list and revoke them.", no_args_is_help=True)
app.add_typer(keys, name="keys")
KeysFile = Annotated[
    Path,
    typer.Option("--file", envvar="GRADWIRE_KEYS_FILE", help="The file that has their hashes."),
]


@keys.command("create")
def create_key(
    tenant: Annotated[str, typer.Argument(help="Whose it is; all of a tenant's keys are equal.")],
    file: KeysFile,
    note: Annotated[str, typer.Option(help="What it is for, to be listed.")] = "",
) -> None:
    """Make a key and print it: it can't be shown again."""
    from gradwire_service.commands.keys import create

    _settled(lambda: create(file, tenant, note))


@keys.command("list")
def list_keys(file: KeysFile) -> None:
    """List the keys: id, tenant, when it was made, note."""
    from gradwire_service.commands.keys import show

    _settled(lambda: show(file))


@keys.command("revoke")
def revoke_key(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The id that list shows.")],
    file: KeysFile,
) -> None:
    """Take a key back; servers that run refuse it at once."""
    from gradwire_service.commands.keys import revoke

    _settled(lambda: revoke(file, key_id))


def _settled(work: Callable[[], None]) -> None:
    """Run it; what goes wrong is one message, not a traceback."""
    from gradwire_engine.errors import GradwireError

    try:
        work()
    except GradwireError as problem:
        typer.secho(f"{problem.code}{_place(problem)}: {problem}", fg="red", err=True)
        raise typer.Exit(1) from None


def _place(problem: GradwireError) -> str:
    """Which step failed, counted from 0; of source text the error itself says the line."""
    if problem.step is None or problem.detail.startswith("source, line"):
        return ""
    op = "" if problem.op is None else f" ({problem.op})"
    return f", step {problem.step}{op}"


def main() -> None:
    """The `gradwire` command."""
    app()
