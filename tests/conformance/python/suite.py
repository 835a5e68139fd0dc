"""Which of Python's test modules are run: what has to do with threads, with processes, signals and waiting."""
from __future__ import annotations

from dataclasses import dataclass

from runner import output_of

PYTHON = "/usr/bin/python3"
MODULES = ("test_threading", "test_queue", "test_concurrent_futures", "test_thread", "test_threading_local", "test_threadedtempfile",
           "test_threadsignals", "test_asyncio", "test_eintr", "test_epoll", "test_faulthandler", "test_fork1", "test_ftplib",
           "test_httpservers", "test_io", "test_logging", "test_multiprocessing_fork", "test_multiprocessing_spawn", "test_os", "test_poll", "test_posix", "test_select",
           "test_selectors", "test_signal", "test_smtplib", "test_ssl", "test_subprocess", "test_urllib2_localnet", "test_wait3",
           "test_wait4", "test_xmlrpc")


@dataclass
class test_module:
    name: str


def all_modules() -> list[test_module]:
    """Empty: the tests are not installed."""
    there = set(output_of(PYTHON, "-m", "test", "--list-tests").split())
    return [test_module(name) for name in MODULES if name in there]
