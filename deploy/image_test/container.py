"""Run an unpacked image as an engine would: its own processes, mounts and user, a read-only root.

Only util-linux is needed. What is run, as whom and where comes from the image's configuration,
nothing from here.
"""

import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

SIOCSIFFLAGS, IFF_UP = 0x8914, 0x1  # linux/sockios.h, linux/if.h

# $1 is the image's root: read-only, but for /tmp (in memory) and the volumes bound to it.
MOUNTS = """
set -eu
root=$1 volumes=$2; shift 2
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount --rbind /dev "$root/dev"
for volume in $volumes; do mount -t tmpfs -o "$OWNER" tmpfs "$root$volume"; done
mount -o remount,bind,ro "$root"
exec "$@"
"""


@dataclass(frozen=True)
class Image:
    """An image's files, and the configuration that says how to run them."""

    root: Path
    config: dict[str, Any]

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), default=str))

    @classmethod
    def load(cls, path: Path) -> "Image":
        saved = json.loads(path.read_text())
        return cls(Path(saved["root"]), saved["config"])

    @property
    def account(self) -> tuple[int, int]:
        """Uid and gid of the configured user, looked up in the image's own /etc/passwd."""
        for line in (self.root / "etc/passwd").read_text().splitlines():
            name, _, uid, gid = line.split(":")[:4]
            if name == self.config["User"]:
                return int(uid), int(gid)
        raise LookupError(f"the image has no user {self.config['User']!r}")

    @property
    def environment(self) -> dict[str, str]:
        return dict(entry.split("=", 1) for entry in self.config["Env"])


@dataclass
class Container:
    """A running image; `pid` is, seen from outside, its first process (inside, number 1)."""

    image: Image
    command: list[str]
    variables: dict[str, str] = field(default_factory=dict)
    pid: int = 0
    outer: "subprocess.Popen[bytes]" = field(init=False)

    def start(self) -> None:
        uid, gid = self.image.account
        volumes = " ".join(self.image.config.get("Volumes") or {})
        space = ["unshare", "--pid", "--mount", "--fork", "--kill-child"]
        mounts = ["sh", "-c", MOUNTS, "sh", str(self.image.root), volumes]
        environment = {**os.environ, "OWNER": f"uid={uid},gid={gid}"}
        self.outer = subprocess.Popen(
            [*space, *mounts, *self._inside(self.command)], env=environment
        )
        self.pid = self._first_child()

    def _inside(self, command: list[str]) -> list[str]:
        """`command` as the image's user, in its root, working directory and environment."""
        uid, gid = self.image.account
        root = f"--root={self.image.root}"
        place = [
            root,
            f"--wd={self.image.config['WorkingDir']}",
            f"--setuid={uid}",
            f"--setgid={gid}",
        ]
        environment = self.image.environment | self.variables
        variables = [f"{name}={value}" for name, value in environment.items()]
        return ["unshare", *place, "env", "-i", *variables, *command]

    def _first_child(self) -> int:
        children = Path(f"/proc/{self.outer.pid}/task/{self.outer.pid}/children")
        for _ in range(100):
            if found := children.read_text().split():
                return int(found[0])
            time.sleep(0.02)
        raise TimeoutError("unshare started nothing within 2 s")

    def execute(self, command: list[str]) -> int:
        """Run a further command inside, as `docker exec` does, and return its exit status."""
        inside = ["nsenter", f"--target={self.pid}", "--pid", "--mount"]
        return subprocess.run([*inside, *self._inside(command)]).returncode

    def status(self) -> dict[str, str]:
        """/proc's account of the first process: its command, user and capabilities."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}

    def stop(self, patience_s: float = 10) -> int:
        """Ask the first process to end, by the image's own stop signal; its exit status."""
        os.kill(self.pid, signal.Signals[self.image.config.get("StopSignal") or "SIGTERM"])
        return self.outer.wait(patience_s)


def loopback_up() -> None:
    """Switch on the loopback interface of a new network space, where it is down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", IFF_UP))
