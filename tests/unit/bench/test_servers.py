"""The suite of servers: nothing of one is left, whatever happens; a row whose programs are missing is left out."""
import os
import unittest
from unittest import mock

import harness_path
from harness import registry_servers
from servers import process
from servers.process import Failure, Server


def is_there(pid: int) -> bool:
    return any(int(fields[0]) == pid for fields in process.processes_of(pid))


class Servers(unittest.TestCase):
    def start(self, server: Server, command) -> int:
        server.start(command, lambda: True)
        return server.child.pid

    def test_a_server_and_its_folder_are_gone_after_a_failure(self):
        with self.assertRaises(Failure):
            with Server([]) as server:
                pid = self.start(server, ["sleep", "1000"])
                self.assertTrue(is_there(pid) and server.folder.is_dir())
                raise Failure("the client's")
        self.assertFalse(is_there(pid) or server.folder.exists())

    def test_what_a_server_has_started_ends_with_it(self):
        with Server([]) as server:
            server.patience = 0.1
            pid = self.start(server, ["sh", "-c", "trap '' TERM; sleep 1000 & wait; sleep 1000"])
        self.assertEqual({"Z"} | {fields[1] for fields in process.processes_of(pid)}, {"Z"})  # killed, if not yet reaped

    def test_a_server_that_ends_by_itself_fails_with_its_last_line(self):
        with self.assertRaisesRegex(Failure, "does not answer: no room"):
            with Server([]) as server:
                server.start(["sh", "-c", "echo no room; exit 3"], lambda: False)

    def test_a_client_that_fails_says_its_last_line(self):
        with self.assertRaisesRegex(Failure, "sh failed: refused"):
            process.ask(["sh", "-c", "echo refused; exit 1"])

    def test_a_row_needs_its_programs(self):
        case = registry_servers.SERVERS_SUITE.cases[0]
        with mock.patch.object(registry_servers, "SEARCHED", os.devnull):
            self.assertEqual(registry_servers.missing(case), ["mariadbd", "mariadb-install-db", "sysbench"])

    def test_each_row_is_one_that_the_program_knows(self):
        text = (harness_path.REPOSITORY / "bench" / "servers" / "servers.py").read_text()
        for case in registry_servers.SERVERS_SUITE.cases:
            self.assertIn(f'"{case.arguments[0]}": Measured(', text)


if __name__ == "__main__":
    unittest.main()
