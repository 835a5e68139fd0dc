// comity: the command line.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "command_line.hpp"
#include "sys/message.hpp"

int main(int count, char **words) {
    try {
        const int code = comity::cli::run_command_line({words + 1, words + count});
        if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
        comity::sys::warn("standard output: %s", std::strerror(errno));
        return code != 0 ? code : 1;
    } catch (const std::exception &error) { // out of memory, or standard output is gone
        comity::sys::warn("%s", error.what());
        return 1;
    }
}
