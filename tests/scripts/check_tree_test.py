"""scripts/check-tree finds each kind of violation and accepts a tree without one."""
import unittest

from tree_case import TreeCase

CLEAN = {
    "README.md": "[a](docs/a.md) [b](docs/a.md#two-words) [c](https://example.org) [d](#top)\n# Top\n",
    "docs/a.md": "# Two `words`\n```\n[no link](nowhere)\n```\n[up](../README.md)\n",
    "src/core/hart.cpp": "int x;\n" * 700,
    "src/core/README.md": "`arch/` has the assembly.",
    "src/core/arch/switch.S": "",
    "src/core/table.inc": "1,\n" * 5000,
    "build/x.cpp": "",
    "tests/model/park.cpp": 'const registration here{{"park", {"wakes_nobody"}, search<park>, {1, 2}}};',
    "tests/model/wake.pml": "",
    "tests/README.md": "| park and wake | `park`, `wake` |\n",
    "src/core/park/README.md": "`word_`\n\n*Model:* `park` (`wakes_nobody`,\n`wake`). Test: `a_test`.\n\n`other`\n",
}


class CheckTree(TreeCase):
    script = "check-tree"

    def test_accepts_a_tree_in_which_everything_can_be_found(self):
        self.assert_clean(CLEAN)

    def test_finds_a_link_to_a_file_that_is_not_there(self):
        self.assert_found(CLEAN | {"docs/b.md": "\n![plot](images/none.png)\n"}, "docs/b.md:2:", "images/none.png leads nowhere")

    def test_finds_a_link_to_a_heading_that_is_not_there(self):
        self.assert_found(CLEAN | {"docs/b.md": "[x](a.md#three)\n"}, "docs/b.md:1:", "no heading for #three")

    def test_finds_a_folder_with_code_and_no_readme(self):
        self.assert_found(CLEAN | {"src/new/a.cpp": ""}, "src/new", "no README.md")

    def test_finds_a_folder_that_the_readme_above_does_not_name(self):
        self.assert_found(CLEAN | {"src/core/new/a.cpp": ""}, "src/core/new", "no README.md")

    def test_finds_a_file_that_is_too_long(self):
        self.assert_found(CLEAN | {"src/core/long.cpp": "int x;\n" * 701}, "src/core/long.cpp:701:", "701 lines")

    def test_finds_a_model_that_is_not_there(self):
        self.assert_found(CLEAN | {"docs/b.md": "*Model:* `park`,\n`sleep`\n"}, "docs/b.md:2:", "sleep")

    def test_finds_a_model_that_the_table_does_not_name(self):
        model = 'const registration two{\n    {"leave",\n {}}};'
        self.assert_found(CLEAN | {"tests/model/leave.cpp": model}, "tests/README.md:1:", "leave")


if __name__ == "__main__":
    unittest.main()
