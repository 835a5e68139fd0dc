// comity bench: finds the benchmark harness and its programs, of a build folder or of an installation, and becomes it.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include <unistd.h>

#include <fmt/format.h>

#include "commands.hpp"
#include "installation.hpp"
#include "program.hpp"
#include "sys/message.hpp"

namespace comity::cli {
namespace {

int fail(const std::string &text) {
    sys::warn("bench: %s", text.c_str());
    return 1;
}

bool is_readable(const std::string &path) { return ::access(path.c_str(), R_OK) == 0; }

// The source folder that a build folder was configured from, by CMake's own word; empty when `folder` is no build
// folder.
std::string source_folder(const std::string &folder) {
    constexpr const char *key = "CMAKE_HOME_DIRECTORY:INTERNAL=";
    std::ifstream cache(folder + "/CMakeCache.txt");
    for (std::string line; std::getline(cache, line);)
        if (line.compare(0, std::strlen(key), key) == 0) return line.substr(std::strlen(key));
    return {};
}

struct bench_place {
    std::string harness;  // run.py
    std::string programs; // the folder of the benchmark programs
    std::string advice;   // how to get the programs
    bool is_build = false;
};

bench_place find_bench(const std::string &prefix) {
    const std::string source = source_folder(prefix);
    if (!source.empty())
        return {source + "/bench/run.py", prefix + "/bench", "cmake --build " + prefix + " --target bench_programs",
                true};
    const std::string folder = find_installation().folder;
    return {fmt::format("{}/{}/comity/bench/run.py", prefix, COMITY_DATA_FOLDER),
            folder.empty() ? "" : folder + "/bench",
            fmt::format("make install PREFIX={} BUILD_ARGS='--target products bench_programs', in Comity's sources",
                        prefix),
            false};
}

// Debian's own Python has the package that draws the plots, so it goes first.
std::string find_python() {
    if (::access("/usr/bin/python3", X_OK) == 0) return "/usr/bin/python3";
    std::string path;
    return find_program("python3", path) ? std::string() : path;
}

} // namespace

int run_bench(const bench_request &request) {
    const std::string program = find_installation().program;
    std::string prefix = program.substr(0, program.rfind('/'));
    prefix.resize(prefix.rfind('/') == std::string::npos ? 0 : prefix.rfind('/'));
    const bench_place place = find_bench(prefix);
    if (!is_readable(place.harness))
        return fail(fmt::format("the harness {} is missing; install Comity again, or run the comity of a build folder",
                                place.harness));
    const bool built = !place.programs.empty() && ::access((place.programs + "/support/rate").c_str(), X_OK) == 0;
    if (request.needs_programs && !built)
        return fail(fmt::format("the benchmark programs are not in {}; to get them: {}", place.programs, place.advice));
    const std::string python = find_python();
    if (python.empty())
        return fail("there is no python3, which the harness is written in; install it: apt-get install python3");

    std::vector<std::string> words{python,    "-B",   place.harness, "--called-as", "comity bench",
                                   "--build", prefix, "--programs",  place.programs};
    if (!place.is_build) words.emplace_back("--no-write"); // there is no page to rewrite
    words.insert(words.end(), request.arguments.begin(), request.arguments.end());
    std::vector<char *> raw;
    raw.reserve(words.size() + 1);
    for (std::string &word : words) raw.push_back(word.data());
    raw.push_back(nullptr);
    ::execv(python.c_str(), raw.data());
    return fail(fmt::format("{}: cannot be executed: {}", python, std::strerror(errno)));
}

} // namespace comity::cli
