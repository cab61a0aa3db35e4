"""Ratios on a noisy machine: A B A B in one process, medians of pairs; memory as the rise of a forked child's peak."""

import os
import pickle
import statistics
import time
from collections.abc import Callable
from pathlib import Path


def time_ratio(theirs: Callable, ours: Callable, pairs: int = 9) -> float:
    """How many times longer `theirs` takes: the median over interleaved pairs, in processor time."""

    def seconds(call: Callable) -> float:
        start = time.process_time()
        call()
        return time.process_time() - start

    for call in (theirs, ours):
        call()
    return statistics.median(seconds(theirs) / seconds(ours) for _ in range(pairs))


def memory_ratio(theirs: Callable[[], Callable], ours: Callable[[], Callable]) -> float:
    """How many times more memory `theirs` needs at its peak; each argument builds the call to measure."""
    return _peak(theirs) / _peak(ours)


def _peak(build: Callable[[], Callable]) -> float:
    """Megabytes that the call adds to its process at most."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        try:
            call = build()
            Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
            before = _status("VmRSS")
            call()
            answer = _status("VmHWM") - before
        except Exception as error:
            answer = error
        os.write(writing, pickle.dumps(answer))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pickle.load(pipe)
    os.waitpid(child, 0)
    if isinstance(answer, Exception):
        raise answer
    return answer


def _status(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))
