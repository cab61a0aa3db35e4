"""The process in which a notebook runs once more before it is handed in: no network, no programs, one thread.

It reads the cells as JSON from its input. For each cell it writes a line of JSON into the file that it is given: what
the cell raised, how many seconds it worked, and how many it waited. The file is there once the cells begin.
"""

import contextlib
import importlib
import json
import sys
import threading
import time
from pathlib import Path

from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from attnbook.handing_in.backstage import backstage_name
from attnbook.language import words

HERE = Path(__file__).parent
REFUSED = {"threading.Thread.start", "socket.connect", "subprocess.Popen"}
REFUSED |= {"os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn"}


def refuse(event: str, _: tuple = ()) -> None:
    """An audit hook that lets nothing out."""
    if event in REFUSED:
        raise PermissionError(words(HERE)["refused"].format(event=event))


def run_cell(shell: InteractiveShell, source: str) -> str:
    """What a cell raises; nothing if all is well."""
    if name := backstage_name(source, shell.user_ns):
        return words(HERE)["backstage"].format(name=name)
    result = shell.run_cell(source, silent=True)
    error = result.error_before_exec or result.error_in_exec
    return "" if error is None else f"{type(error).__name__}: {error}".removesuffix(": ")[:500]


def rerun(cells: list[dict], told: Path) -> None:
    shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    sys.path.insert(0, "")
    for package in ("torch", "matplotlib.pyplot"):  # the first import of some starts threads and programs of its own
        with contextlib.suppress(ImportError):
            importlib.import_module(package)
    threading.Thread.start = lambda self: refuse("threading.Thread.start")  # no audit tells of it before Python 3.12
    sys.addaudithook(refuse)
    told.touch()
    for cell in cells:
        start, worked = time.monotonic(), time.process_time()
        error = run_cell(shell, cell["source"])
        working = time.process_time() - worked
        waiting = time.monotonic() - start - working
        line = {"number": cell["number"], "error": error, "working": working, "waiting": waiting}
        with told.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    rerun(json.loads(sys.stdin.read()), Path(sys.argv[1]))
