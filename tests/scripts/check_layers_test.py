"""scripts/check-layers finds each kind of violation and accepts a tree without one."""
import unittest

from tree_case import TreeCase

LAYERS = "sys:\ncore: sys\nthread: core sys\nos <pthread.h> <sys/*>: sys\n"
CLEAN = {
    "LAYERS": LAYERS,
    "include/comity/core.h": "#include <stddef.h>\n",
    "src/sys/futex.hpp": "#include <sys/syscall.h>\n",
    "src/core/hart.hpp": '#include "sys/futex.hpp"\n#include "comity/core.h"\n',
    "src/thread/thread.cpp": '#include "core/hart.hpp"\n#include <comity/core.h>\n#include <vector>\n',
}


class CheckLayers(TreeCase):
    script = "check-layers"

    def test_accepts_arrows_that_point_down(self):
        self.assert_clean(CLEAN)

    def test_finds_an_arrow_that_points_up(self):
        self.assert_found(CLEAN | {"src/core/up.cpp": '#include "thread/thread.hpp"\n', "src/thread/thread.hpp": ""},
                          "src/core/up.cpp:1:", "core may not include", "thread")

    def test_finds_an_arrow_up_in_a_public_header(self):
        self.assert_found(CLEAN | {"include/comity/core.h": "#include <comity/thread.h>\n", "include/comity/thread.h": ""},
                          "include/comity/core.h:1:", "core may not include", "thread")

    def test_finds_an_arrow_up_written_as_a_relative_path(self):
        self.assert_found(CLEAN | {"src/sys/up.cpp": '\n#include "../core/hart.hpp"\n'}, "src/sys/up.cpp:2:", "sys may not")

    def test_finds_a_folder_that_has_no_layer(self):
        self.assert_found(CLEAN | {"src/new/file.cpp": ""}, "src/new/file.cpp", "no layer")

    def test_finds_the_operating_system_outside_its_folder(self):
        self.assert_found(CLEAN | {"src/core/os.cpp": "#include <pthread.h>\n"}, "src/core/os.cpp:1:", "pthread.h")

    def test_finds_operating_system_headers_by_pattern(self):
        self.assert_found(CLEAN | {"src/core/os.cpp": "#include <sys/mman.h>\n"}, "src/core/os.cpp:1:", "sys/mman.h")

    def test_finds_files_that_include_each_other(self):
        self.assert_found(CLEAN | {"src/core/a.hpp": '#include "core/b.hpp"\n', "src/core/b.hpp": '#include "a.hpp"\n'},
                          "src/core/a.hpp -> src/core/b.hpp -> src/core/a.hpp")

    def test_finds_layers_in_a_circle(self):
        self.assert_found(CLEAN | {"LAYERS": LAYERS.replace("sys:\n", "sys: thread\n", 1)}, "circle")

    def test_finds_a_quoted_name_that_is_nowhere(self):
        self.assert_found(CLEAN | {"src/core/lost.cpp": '#include "core/no_such.hpp"\n'}, "src/core/lost.cpp:1:", "no_such")


if __name__ == "__main__":
    unittest.main()
