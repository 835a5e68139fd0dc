// The subcommands. Each takes what the command line says and returns the exit code of the process.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace comity::cli {

struct run_request {
    std::optional<std::string> harts, bind; // as typed
    bool stats = false, verbose = false, no_nested = false, own_regions = false;
    std::optional<bool> posix;
    std::vector<std::string> command; // the program and its arguments
};
// Returns only when the program could not be started.
int run_program(const run_request &request);

struct doctor_request {
    std::string program;
    long pid = 0; // 0: none
    bool json = false;
};
int examine(const doctor_request &request);

struct bench_request {
    std::vector<std::string> arguments; // of the harness
    bool needs_programs = true;         // it runs some
};
// Returns only when the harness could not be started.
int run_bench(const bench_request &request);

// The environment variables that libcomity reads, as text for people or as docs/configuration.md.
int print_options(bool markdown);

// Checks COMITY_* in the environment: every bad value is reported on standard error as libcomity would, and taken out
// of the environment, so that the programs that inherit it do not all repeat the complaint. Names that are mistyped are
// reported and stay, for they may be somebody else's.
void clean_environment();

} // namespace comity::cli
