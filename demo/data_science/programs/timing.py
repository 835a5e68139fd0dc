"""What all programs share: numbers from the environment, the clock, and the lines that they print."""
import os
import time

_started = time.perf_counter()


def number(name, default=None):
    """The whole number in an environment variable, or the default where it is not set."""
    text = os.environ.get(name)
    return default if text is None else int(text)


def start():
    """What the program computes begins here; what came before (imports, data, first calls) is not timed."""
    global _started
    _started = time.perf_counter()


def finish(**results):
    """Prints `TIME seconds` since start(), and `RESULT name value` for each number that must not depend on threads."""
    print(f"TIME {time.perf_counter() - _started:.6f}", flush=True)
    for name, value in results.items():
        print(f"RESULT {name} {float(value):.12g}", flush=True)


def numbered(name, values):
    """Names for the numbers of a list: name-1, name-2, ..."""
    return {f"{name}-{place}": value for place, value in enumerate(values, 1)}
