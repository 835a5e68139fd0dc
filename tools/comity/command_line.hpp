// What the words of the command line mean.
#pragma once

#include <string>
#include <vector>

namespace comity::cli {

// `words` without the program's own name. Returns the exit code, unless `comity run` becomes the program.
int run_command_line(const std::vector<std::string> &words);

} // namespace comity::cli
