// comity: the command line.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "command_line.hpp"
#include "sys/message.hpp"

int main(int count, char **words) {
    try {
        return comity::cli::run_command_line({words + 1, words + count});
    } catch (const std::exception &error) { // out of memory, or standard output is gone
        comity::sys::warn("%s", error.what());
        return 1;
    }
}
