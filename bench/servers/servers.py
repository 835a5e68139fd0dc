#!/usr/bin/env python3
"""One row of the suite of servers: starts a server of Debian's, has its usual client ask it for some seconds, and prints one JSON line: microseconds a
request, and the processor time of the program that is measured. On the loopback interface only."""
from __future__ import annotations

import argparse
import json
import re
import resource
import shlex
import subprocess
import sys
import time
from typing import Callable, Dict, List, Tuple

from process import Failure, Server, ask, program

FILE_SIZE = 16 << 10
Answer = Tuple[float, float]  # requests a second, and how many there were


def number(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    if not found:
        raise Failure(f"the client says no {pattern}")
    return float(found.group(1))


class Measured:
    """What one row needs: serve(server) starts it, load(server, seconds) asks it."""

    def __init__(self, serve: Callable[[Server], None], load: Callable[[Server, float], Answer], client_is_measured: bool = False):
        self.serve = serve
        self.load = load
        self.client_is_measured = client_is_measured


# ---- Web servers

def by_wrk(server: Server, seconds: float, header: str = "") -> Answer:
    more = ["-H", header] if header else []
    text = ask(["wrk", "-t1", "-c32", f"-d{max(1, round(seconds))}s", *more, f"http://127.0.0.1:{server.port}/file"])
    if "Non-2xx" in text or "Socket errors" in text:
        raise Failure("wrk: " + " ".join(line.strip() for line in text.splitlines() if "Non-2xx" in line or "Socket errors" in line))
    return number(r"Requests/sec:\s+([\d.]+)", text), number(r"(\d+) requests in", text)


def serve_nginx(server: Server, aio: str) -> None:
    server.write("file", "x" * FILE_SIZE)
    here = server.folder
    temporary = " ".join(f"{kind}_temp_path {here}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    configuration = server.write("nginx.conf", f"""
daemon off; worker_processes 1; pid {here}/pid; error_log stderr crit;
events {{ worker_connections 256; }}
http {{ access_log off; sendfile off; {aio} {temporary}
  server {{ listen 127.0.0.1:{server.port}; root {here}; }} }}
""")
    server.start(["nginx", "-p", str(here), "-c", str(configuration)], server.accepts)


def serve_apache(server: Server) -> None:
    server.write("file", "x" * FILE_SIZE)
    here = server.folder
    modules = "\n".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so" for name in ("mpm_event", "authz_core"))
    configuration = server.write("apache.conf", f"""
{modules}
ServerRoot {here}
ServerName localhost
Listen 127.0.0.1:{server.port}
PidFile {here}/pid
ErrorLog {here}/error.log
DefaultRuntimeDir {here}
DocumentRoot {here}
KeepAlive On
MaxKeepAliveRequests 0
StartServers 1
ServerLimit 1
ThreadsPerChild 64
MaxRequestWorkers 64
<Directory {here}>
  Require all granted
</Directory>
""")
    server.start(["apache2", "-DFOREGROUND", "-f", str(configuration)], server.accepts)


# ---- Stores

def serve_redis(server: Server, threads: int) -> None:
    server.start(["redis-server", "--port", str(server.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(server.folder), "--io-threads", str(threads)], server.accepts)


def by_redis_benchmark(server: Server, seconds: float, test: str) -> Answer:
    requests = round(40_000 * seconds)
    text = ask(["redis-benchmark", "-p", str(server.port), "-t", test, "-n", str(requests), "-c", "50", "--csv"])
    return number(rf'"{test.upper()}","([\d.]+)"', text), requests


# ---- Databases

def serve_mariadb(server: Server) -> None:
    data = server.path("data")
    server.prepare(["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"])
    socket_file = server.path("socket")
    server.start(["mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={socket_file}", f"--port={server.port}", "--bind-address=127.0.0.1", "--skip-name-resolve",
                  "--innodb-buffer-pool-size=64M"], server.accepts)
    ask(["mariadb", "--no-defaults", f"--socket={socket_file}", "-uroot", "-e", "create database bench"])
    ask(["sysbench", *of_sysbench(server), "oltp_read_only", "prepare"])


def of_sysbench(server: Server) -> List[str]:
    return ["--db-driver=mysql", f"--mysql-socket={server.path('socket')}", "--mysql-user=root", "--mysql-db=bench", "--tables=1", "--table-size=5000"]


def by_sysbench(server: Server, seconds: float, test: str) -> Answer:
    text = ask(["sysbench", *of_sysbench(server), "--threads=8", f"--time={max(1, round(seconds))}", test, "run"])
    if number(r"ignored errors:\s+(\d+)", text) != 0:
        raise Failure("sysbench: ignored errors")
    return number(r"transactions:\s+\d+\s+\(([\d.]+) per sec", text), number(r"transactions:\s+(\d+)", text)


def serve_postgres(server: Server) -> None:
    """The client is measured, so the server is the C library's."""
    data, here = server.path("data"), server.folder
    server.prepare(["initdb", "-D", str(data), "-U", "bench", "-A", "trust", "--no-sync"])
    wrapper, server.wrapper = server.wrapper, []
    server.start(["postgres", "-D", str(data), "-p", str(server.port), "-k", str(here), "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"],
                 lambda: subprocess.run([program("pg_isready"), "-q", "-h", str(here), "-p", str(server.port)]).returncode == 0)
    server.wrapper = wrapper
    ask(["pgbench", *of_pgbench(server), "-i", "-q"])


def of_pgbench(server: Server) -> List[str]:
    return ["-h", str(server.folder), "-p", str(server.port), "-U", "bench", "postgres"]


def by_pgbench(server: Server, seconds: float) -> Answer:
    text = ask(["pgbench", *of_pgbench(server)[:-1], "-n", "-S", "-c8", "-j8", f"-T{max(1, round(seconds))}", "postgres"], wrapper=server.wrapper)
    if number(r"number of failed transactions: (\d+)", text) != 0:
        raise Failure("pgbench: failed transactions")
    return number(r"tps = ([\d.]+)", text), number(r"actually processed: (\d+)", text)


ROWS: Dict[str, Measured] = {
    "mariadb-read": Measured(serve_mariadb, lambda server, s: by_sysbench(server, s, "oltp_read_only")),
    "mariadb-write": Measured(serve_mariadb, lambda server, s: by_sysbench(server, s, "oltp_read_write")),
    "nginx-aio": Measured(lambda server: serve_nginx(server, "aio threads;"), by_wrk),
    "nginx": Measured(lambda server: serve_nginx(server, ""), by_wrk),
    "apache-keep-alive": Measured(serve_apache, by_wrk),
    "apache": Measured(serve_apache, lambda server, s: by_wrk(server, s, "Connection: close")),
    "redis-threads-set": Measured(lambda server: serve_redis(server, 2), lambda server, s: by_redis_benchmark(server, s, "set")),
    "redis-threads-get": Measured(lambda server: serve_redis(server, 2), lambda server, s: by_redis_benchmark(server, s, "get")),
    "redis-set": Measured(lambda server: serve_redis(server, 1), lambda server, s: by_redis_benchmark(server, s, "set")),
    "pgbench": Measured(serve_postgres, by_pgbench, client_is_measured=True),
}


def children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(row: Measured, wrapper: List[str], seconds: float, hold: bool) -> Dict[str, object]:
    with Server(wrapper) as server:
        row.serve(server)
        if hold:
            print(f"port {server.port}, process {server.child.pid}, {server.folder}: until the end of the input", file=sys.stderr, flush=True)
            sys.stdin.read()
        row.load(server, seconds / 4)  # warms it up
        used = children_seconds if row.client_is_measured else server.cpu_seconds
        before = used()
        rate, requests = row.load(server, seconds)
        return {"us": 1e6 / rate, "cpu_us": 1e6 * (used() - before) / requests, "per_s": rate, "verified": True}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("row", choices=list(ROWS))
    parser.add_argument("--seconds", type=float, default=2, help="of load (default: %(default)s)")
    parser.add_argument("--under", type=shlex.split, default=[], metavar="COMMAND", help="words before the program that is measured, as in 'comity run --posix --'")
    parser.add_argument("--hold", action="store_true", help="only start the server, and wait for the end of the input before the load")
    given = parser.parse_args()
    try:
        print(json.dumps(measure(ROWS[given.row], given.under, given.seconds, given.hold)), flush=True)
    except (Failure, subprocess.TimeoutExpired) as failure:
        print(f"{given.row}: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
