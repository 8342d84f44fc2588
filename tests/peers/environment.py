"""Virtual environments with packages from PyPI, made once in the cache folder."""
import os
import subprocess
import sys
import venv
from pathlib import Path


def cache_folder(name):
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hloc" / name


def run_inside(folder, packages):
    """Returns when the program runs in the environment `folder`, which has `packages`; starts it there when it does not.

    Ends the program with 3 when they can't be had."""
    if Path(sys.prefix).resolve() == folder.resolve():
        return
    python = folder / "bin" / "python"
    ready = folder / "ready"
    if not ready.exists():
        venv.create(folder, with_pip=True, clear=True)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
        if subprocess.run(install).returncode != 0:
            print(f"{Path(sys.argv[0]).stem}: {', '.join(packages)} could not be installed", file=sys.stderr)
            sys.exit(3)
        ready.touch()
    os.execv(python, [str(python), os.path.abspath(sys.argv[0]), *sys.argv[1:]])
