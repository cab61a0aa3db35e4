"""A machine like Colab's: a Python environment with the packages that Colab has, and a kernel in it."""

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import uv
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError

from booktools.book import NO_NAMESPACES, BookError
from booktools.rehearsal.processors import as_most_readers_have

# What a machine of its own does not have: traces of the environment that the book is built in.
OURS = ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "TQDM_DISABLE", "JUPYTER_PATH", "MPLBACKEND")

# Colab installs with pip. Notebook 6 is the last that shows the widgets of its ipywidgets in a browser.
TOOLS = ("pip", "notebook<7")


@dataclass(frozen=True)
class Packages:
    """The versions of a list of packages, and when it was read.

    >>> Packages.of("# Colab had on 2026-08-19\\nnumpy==2.1.3\\ntorch @ https://a.org/torch-2.11.0%2Bcpu-cp313.whl")
    Packages(versions={'numpy': '2.1.3', 'torch': '2.11.0'}, date='2026-08-19')
    """

    versions: dict[str, str]
    date: str

    @classmethod
    def of(cls, text: str) -> "Packages":
        pinned = re.findall(r"^([\w.-]+)(?:==| @ \S+/[\w.]+-)(\d[\w.]*)", text, re.MULTILINE)
        date = re.search(r"^#.*?(\d{4}-\d\d-\d\d)", text, re.MULTILINE)
        return cls({_canonical(name): version for name, version in pinned}, date[1] if date else "")

    @property
    def pins(self) -> list[str]:
        return [f"{name}=={version}" for name, version in self.versions.items()]


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@dataclass(frozen=True)
class Machine:
    folder: Path

    @classmethod
    def build(cls, folder: Path, packages: Packages, root: Path, python: str | None) -> "Machine":
        """A new environment with these packages, and what stands in for Colab's own module.

        What runs on it sees nothing of the book's folder `root`. Without a `python`, it has the one that runs this.
        """
        machine = cls(folder.resolve())
        hidden = _hide_with_bwrap(root.resolve(), machine.folder)
        shutil.rmtree(folder, ignore_errors=True)
        machine.uv("venv", "--python", python or sys.executable, str(folder))
        places = [f"--find-links={place}" for place in os.environ.get("PIP_FIND_LINKS", "").split()]
        machine.uv("pip", "install", "--compile-bytecode", *places, *TOOLS, *packages.pins)
        shutil.copytree(root / "colab/stand_in", machine.site_packages, dirs_exist_ok=True)
        kernel = machine.kernels / "colab/kernel.json"
        kernel.parent.mkdir(parents=True)
        start = [str(machine.python), "-m", "ipykernel_launcher", "-f", "{connection_file}", "--ext", "google.colab"]
        kernel.write_text(json.dumps({"argv": [*hidden, *start], "display_name": "Colab"}))
        return machine

    @property
    def python(self) -> Path:
        return self.folder / "bin/python"

    @property
    def kernels(self) -> Path:
        return self.folder / "share/jupyter/kernels"

    @property
    def site_packages(self) -> Path:
        return next(self.folder.glob("lib/python*/site-packages"))

    def uv(self, *command: str) -> None:
        environment = os.environ | {"VIRTUAL_ENV": str(self.folder)}
        done = subprocess.run([uv.find_uv_bin(), *command, "-q"], env=environment, capture_output=True, text=True)
        if done.returncode:
            raise BookError(f"uv {' '.join(command)} failed:\n{done.stderr.strip()}")

    def files(self) -> dict[str, tuple[int, int]]:
        """Every installed file, with its size and time of change."""
        found = {}
        for folder, folders, names in os.walk(self.folder):
            folders[:] = [name for name in folders if name != "__pycache__"]
            for name in names:
                path = os.path.join(folder, name)
                about = os.stat(path, follow_symlinks=False)
                found[os.path.relpath(path, self.folder)] = about.st_size, about.st_mtime_ns
        return found

    async def run(self, notebook, folder: Path) -> None:
        """Run a notebook in a folder, on past errors; outputs and times are written into its cells."""
        folder.mkdir(parents=True, exist_ok=True)
        kernels = KernelSpecManager(kernel_dirs=[str(self.kernels)], ensure_native_kernel=False)
        client = NotebookClient(
            notebook,
            km=AsyncKernelManager(kernel_name="colab", kernel_spec_manager=kernels),
            timeout=300,
            allow_errors=True,
            on_notebook_start=_stop_when_told,
            record_timing=True,
            store_widget_state=True,
            resources={"metadata": {"path": str(folder)}},
        )
        environment = {name: value for name, value in os.environ.items() if name not in OURS}
        path = f"{self.python.parent}{os.pathsep}{os.environ['PATH']}"
        # One thread, as on Colab's single core; the settings of whoever runs this stay out.
        environment |= {"PATH": path, "OMP_NUM_THREADS": "1", "IPYTHONDIR": str(folder / ".ipython")}
        environment["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # or the kernel's debugger complains
        environment |= as_most_readers_have()
        with suppress(CellTimeoutError, DeadKernelError):  # the cells that did not run say so
            await client.async_execute(env=environment, cleanup_kc=True)
        client.set_widgets_metadata()  # a kernel that died has left its widgets


def _stop_when_told(notebook) -> None:
    """Ctrl-C ends the rehearsal, and not one kernel, which is what it is taken for while a notebook runs."""
    asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)


def _hide_with_bwrap(root: Path, kept: Path) -> list[str]:
    """What to put before a command so that it finds the folder `root` empty, but for one folder in it."""
    if not shutil.which("bwrap"):
        raise BookError(
            "the rehearsal hides the book with bubblewrap (the program `bwrap`), on Linux. "
            "On Debian and Ubuntu: sudo apt-get install bubblewrap."
        )
    kept.mkdir(parents=True, exist_ok=True)
    in_sight = ["--tmpfs", str(root), "--bind", str(kept), str(kept)]
    before = ["bwrap", "--dev-bind", "/", "/", *in_sight, "--die-with-parent"]
    tried = subprocess.run([*before, "true"], capture_output=True, text=True)
    if tried.returncode:
        raise BookError(f"bubblewrap does not start. It said:\n{tried.stderr.strip()}\n{NO_NAMESPACES}")
    return before
