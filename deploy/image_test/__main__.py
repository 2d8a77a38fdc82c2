"""`make image-test`: build the Dockerfile with buildah, without an engine, and try what came out.

The base image is a stand-in made with debootstrap, so no registry of images is needed; everything
lies in `.image-test/`. The image then runs as an engine would run it (see `container.py`), in a
network of its own.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from deploy.image_test.container import Image

ROOT = Path(__file__).parents[2]
WORK = ROOT / ".image-test"
SUITE = "bookworm"
BASE = "localhost/gradwire-stand-in"
IMAGE = "localhost/gradwire"
PIP_SETTINGS = ("index-url", "extra-index-url", "trusted-host", "proxy", "timeout", "retries")
NEEDED = {
    "buildah": "apt-get install buildah",
    "debootstrap": "apt-get install debootstrap",
    "unshare": "apt-get install util-linux",
}


def missing() -> list[str]:
    """Say what this machine lacks for the test, one sentence for each thing."""
    lacks = [
        f"{tool} is not installed: {fix}" for tool, fix in NEEDED.items() if not shutil.which(tool)
    ]
    if os.geteuid() != 0:
        lacks.append(
            "it must be run as root: the base image has files of root's, and chroot is root's"
        )
    return lacks


def buildah(*arguments: str, quiet: bool = True) -> str:
    """Run buildah on storage of the test's own and return what it printed, stripped."""
    storage = ["--storage-driver", "vfs", "--root", f"{WORK}/storage", "--runroot", f"{WORK}/run"]
    done = subprocess.run(
        ["buildah", *storage, *arguments],
        check=True,
        text=True,
        stdout=subprocess.PIPE if quiet else None,
    )
    return (done.stdout or "").strip()


def stand_in() -> None:
    """Make the base image: Debian's smallest system with its python3 and nothing to build with."""
    tree = WORK / SUITE
    if not (tree / "etc/ready").exists():
        shutil.rmtree(tree, ignore_errors=True)
        packages = "--include=python3,python3-venv"
        subprocess.run(["debootstrap", "--variant=minbase", packages, SUITE, tree], check=True)
        shutil.rmtree(tree / "var/cache/apt", ignore_errors=True)
        (tree / "etc/ready").touch()
    container = buildah("from", "scratch")
    buildah("add", "--quiet", container, str(tree), "/")
    buildah("commit", "--quiet", "--rm", container, BASE)


def pip_secrets() -> list[str]:
    """Hand this machine's pip settings to the build as secrets, which no layer keeps."""
    shown = subprocess.check_output([sys.executable, "-m", "pip", "config", "list"], text=True)
    settings = {}
    for line in shown.splitlines():
        key, _, value = line.partition("=")
        settings[key.rpartition(".")[2]] = value.strip("'\"")
    lines = ["[global]"]
    for key in PIP_SETTINGS:
        kept = " ".join(v for v in settings.get(key, "").split() if not v.startswith("file:"))
        lines += [f"{key} = {kept}"] if kept else []
    authorities = settings.get("cert") or os.environ.get("SSL_CERT_FILE")
    secrets = []
    if authorities:
        lines.append("cert = /run/secrets/ca.pem")
        secrets.append(f"--secret=id=ca.pem,src={authorities}")
    (WORK / "pip.conf").write_text("\n".join(lines) + "\n")
    return [f"--secret=id=pip.conf,src={WORK}/pip.conf", *secrets]


def build(variant: str) -> None:
    flags = ["--isolation", "chroot", "--format", "docker", "--layers=false", "--pull-never"]
    settings = ["--build-arg", f"BASE={BASE}", "--build-arg", f"VARIANT={variant}"]
    buildah("build", *flags, *settings, *pip_secrets(), "--tag", IMAGE, str(ROOT), quiet=False)


def unpack() -> Image:
    """Mount the built image; what its configuration says decides how it is run."""
    container = buildah("from", "--pull-never", IMAGE)
    found = json.loads(buildah("inspect", "--type", "image", IMAGE))
    config = found["Docker"]["config"]
    return Image(root=Path(buildah("mount", container)), config=config)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--variant", default="server", choices=["server", "cuda"])
    parser.add_argument("--keep", action="store_true", help="leave the built images in .image-test")
    arguments = parser.parse_args()
    if lacks := missing():
        sys.exit("make image-test can't run here:\n  " + "\n  ".join(lacks))
    WORK.mkdir(exist_ok=True)
    try:
        stand_in()
        build(arguments.variant)
        image = unpack()
        image.save(WORK / "image.json")
        apart = ["unshare", "--net", "--mount", "--propagation", "private"]
        tests = [sys.executable, "-m", "pytest", "-v", "--rootdir", str(ROOT), "deploy/image_test"]
        environment = {**os.environ, "GRADWIRE_IMAGE": str(WORK / "image.json")}
        sys.exit(subprocess.run([*apart, *tests], cwd=ROOT, env=environment).returncode)
    finally:
        if not arguments.keep:
            buildah("rm", "--all")
            buildah("rmi", "--all", "--force")


if __name__ == "__main__":
    main()
