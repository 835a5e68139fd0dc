// comity options: the table of environment variables, which is also docs/configuration.md.
#include <cstdio>
#include <cstdlib>
#include <string>

#include <unistd.h>

#include <fmt/format.h>

#include "commands.hpp"
#include "help.hpp"
#include "sys/cpu_limits.hpp"
#include "sys/message.hpp"
#include "sys/options.hpp"

namespace comity::cli {
namespace {

std::string allowed(const sys::option &row) {
    char text[160];
    sys::describe_allowed(row, text, sizeof text);
    return text;
}

// A paragraph under a variable's name.
std::string indented(const std::string &text) {
    std::string result = "      " + wrap(text, 74) + "\n";
    for (std::size_t at = 0; (at = result.find('\n', at)) + 1 < result.size(); at += 7) result.insert(at + 1, "      ");
    return result;
}

void print_text() {
    fmt::print("Environment variables that Comity reads, once, when a program first uses it.\n"
               "A bad value is answered by one line on standard error, and the default is used.\n"
               "An empty one is no value. 0 may be written no, off or false, and 1 yes, on or true.\n");
    for (const sys::option &row : sys::get_option_table()) {
        if (row.internal) continue;
        const std::string option = row.command_line ? fmt::format("   (comity run {})", row.command_line) : "";
        fmt::print("\n  {}{}\n{}", row.variable, option, indented(row.help));
        fmt::print("{}", indented("Allowed: " + allowed(row) + "."));
        fmt::print("{}", indented("Default: " + std::string(row.standard) + "."));
    }
}

void print_rows(bool internal) {
    fmt::print("| variable | allowed | default | meaning |\n|---|---|---|---|\n");
    for (const sys::option &row : sys::get_option_table()) {
        if (row.internal != internal) continue;
        const std::string option = row.command_line ? fmt::format(" (`comity run {}`)", row.command_line) : "";
        fmt::print("| `{}`{} | {} | {} | {} |\n", row.variable, option, allowed(row), row.standard, row.help);
    }
}

void print_markdown() {
    fmt::print(
        "# Configuration\n<!-- Made by `comity options --markdown` from the table in src/sys/options.cpp; a test "
        "compares them. -->\n\n"
        "Nothing needs to be set. Comity reads these variables once, when a program first uses it. A bad value is "
        "answered\nby one line on standard error and the default; it never ends the program. Where a program runs "
        "with the rights of\nanother user (set-user-id), the environment is ignored. An empty "
        "value is no value; 0 may be written `no`, `off` or\n`false`, and 1 `yes`, `on` or `true`.\n\n"
        "OpenMP programs have `OMP_NUM_THREADS`, `OMP_STACKSIZE` and the like besides: "
        "[which of them have an effect](personality/openmp.md#environment-variables).\n\n");
    print_rows(false);
    fmt::print("\nSet by `comity run` itself, for the libraries that it loads:\n\n");
    print_rows(true);
}

} // namespace

int print_options(bool markdown) {
    if (markdown)
        print_markdown();
    else
        print_text();
    return 0;
}

void clean_environment() {
    sys::parse_options([](const char *variable, void *) -> const char * { return std::getenv(variable); },
                       [](const sys::option &row, const char *complaint, void *) {
                           sys::warn("%s", complaint);
                           ::unsetenv(row.variable);
                       },
                       nullptr, std::getenv("COMITY_HARTS") ? sys::get_cpu_limits().usable() : 0);
    (void)sys::get_options(); // reports names that are mistyped, unless another `comity run` has
}

} // namespace comity::cli
