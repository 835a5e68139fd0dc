"""The help, the manual pages, the completions and the page of the configuration say the same."""
import os
import re
import shutil
import subprocess
import unittest

from cli_case import SOURCE, cli_case

COMMANDS = ("run", "doctor", "bench", "options")


def read(path):
    with open(os.path.join(SOURCE, path)) as file:
        return file.read()


def manual_text(name):
    """A manual page without its markup, as far as words go."""
    text = read(f"docs/man/{name}.1").replace("\\-", "-")
    return re.sub(r"^\.[A-Z]+ ?", "", text, flags=re.M).replace('"', "")


class pages(cli_case):
    def help_of(self, *words):
        result = self.run_comity(*words, "--help")
        self.expect(result, 0)
        return result.stdout

    def options_of(self, *words):
        return set(re.findall(r"^  (?:-\w,)?(--[a-z-]+)", self.help_of(*words), flags=re.M))

    def test_every_command_has_help_that_fits_the_screen(self):
        for words in ((), *((command,) for command in COMMANDS)):
            text = self.help_of(*words)
            self.assertIn("Usage: comity", text)
            self.assertLessEqual(max(map(len, text.splitlines())), 82)
            self.assertEqual(self.help_of(*words), self.run_comity(*words, "-h").stdout)
        self.assertEqual(set(re.findall(r"^  (\w+) ", self.help_of(), flags=re.M)) & set(COMMANDS), set(COMMANDS))
        self.assertGreaterEqual(self.options_of("run"), {"--harts", "--bind", "--no-nested", "--stats", "--verbose", "--help"})

    def test_help_is_a_command_too(self):
        for words in ((), *((command,) for command in COMMANDS)):
            self.expect(self.run_comity("help", *words), 0, out=self.help_of(*words))
        self.expect(self.run_comity("help", "frob"), 2, err='there is no command "frob"; see `comity --help`')

    def test_what_is_mistyped_gets_a_suggestion(self):
        for words, code, meant in ((("rnu", "true"), 2, "run"), (("doctr",), 2, "doctor"), (("run", "--hart=2", "true"), 125, "--harts"),
                                   (("run", "--bnid", "cores"), 125, "--bind"), (("bench", "--quik"), 2, "--quick"), (("--versoin",), 2, "--version")):
            self.expect(self.run_comity(*words), code, out="", err=f" (did you mean {meant}?); see `comity")
        for words in (("run", "--frobnicate", "true"), ("run", "--frobnicate", "--harts=2", "true"), ("frobnicate",)):
            self.assertNotIn("did you mean", self.run_comity(*words).stderr)

    def test_the_version_is_the_projects(self):
        version = re.search(r"project\(comity VERSION ([\d.]+)", read("CMakeLists.txt")).group(1)
        for words in ("--version", "-v"):
            self.expect(self.run_comity(words), 0, out=f"comity {version}\n")
        for name in ("comity", "comity-run", "comity-doctor", "comity-bench"):
            self.assertIn(f'"Comity {version}"', read(f"docs/man/{name}.1"))

    def test_manual_pages_have_exactly_the_options_of_the_help(self):
        for command in ("run", "doctor", "bench"):
            said = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", manual_text(f"comity-{command}")))
            self.assertEqual(said, self.options_of(command), command)
        said = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", manual_text("comity")))
        self.assertEqual(said, self.options_of() | self.options_of("options") | {"--json", "--pid"})

    def test_completions_have_exactly_the_options_of_the_help(self):
        known = {"--version", *(option for command in COMMANDS for option in self.options_of(command))}
        for name in ("comity.bash", "_comity"):
            text = re.sub(r"^\s*#.*$", "", read(f"tools/comity/completions/{name}"), flags=re.M)
            self.assertEqual(set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)), known, name)
        fish = read("tools/comity/completions/comity.fish")
        self.assertEqual({"--" + option for option in re.findall(r" -l ([a-z-]+)", fish)}, known)

    def test_completions_are_accepted_by_their_shells(self):
        for shell, name in (("bash", "comity.bash"), ("zsh", "_comity"), ("fish", "comity.fish")):
            if shutil.which(shell):
                path = os.path.join(SOURCE, "tools/comity/completions", name)
                result = subprocess.run([shell, "-n", path], capture_output=True, text=True)
                self.assertEqual((result.returncode, result.stderr), (0, ""), shell)

    def test_bash_completes_commands_options_and_programs(self):
        def complete(*words):
            script = f"""source {SOURCE}/tools/comity/completions/comity.bash
                COMP_WORDS=({" ".join(f"'{word}'" for word in words)}); COMP_CWORD={len(words) - 1}; _comity
                printf '%s\\n' "${{COMPREPLY[@]}}\""""
            return subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True).stdout.split()
        self.assertEqual(complete("comity", "d"), ["doctor"])
        self.assertEqual(complete("comity", "run", "--h"), ["--harts", "--help"])
        self.assertEqual(complete("comity", "doctor", "--p"), ["--pid"])
        self.assertIn("printf", complete("comity", "run", "--harts", "2", "print"))
        self.assertEqual(complete("comity", "run", "--bind", "n"), ["none", "numa"])
        self.assertIn("printf", complete("comity", "run", "--bind", "cores", "print"))

    def test_the_page_of_the_configuration_is_made_from_the_table(self):
        result = self.run_comity("options", "--markdown")
        self.assertEqual(result.stdout, read("docs/configuration.md"),
                         "run `comity options --markdown >docs/configuration.md`")

    def test_every_variable_for_users_is_in_the_list_and_in_the_manual(self):
        table = read("docs/configuration.md")
        public = set(re.findall(r"^\| `(COMITY_\w+)`", table.split("Set by `comity run`")[0], flags=re.M))
        self.assertGreaterEqual(len(public), 8)
        self.assertEqual(set(re.findall(r"COMITY_\w+", self.run_comity("options").stdout)), public)
        self.assertEqual(set(re.findall(r"COMITY_\w+", manual_text("comity"))), public)

    def test_manual_pages_are_well_formed(self):
        if not shutil.which("groff"):
            self.skipTest("groff is not installed")
        for name in ("comity", "comity-run", "comity-doctor"):
            result = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", os.path.join(SOURCE, f"docs/man/{name}.1")],
                                    capture_output=True, text=True)
            self.assertEqual((result.returncode, result.stderr), (0, ""), name)


if __name__ == "__main__":
    unittest.main()
