// How the help looks: CLI11's form with our own usage line, and wrapped.
#pragma once

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

namespace comity::cli {

// `text` broken into lines of at most `width` characters.
std::string wrap(const std::string &text, std::size_t width);

// `usage` is what follows "Usage: ".
std::shared_ptr<CLI::FormatterBase> make_help_format(std::string usage);

} // namespace comity::cli
