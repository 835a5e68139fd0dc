// Which of a program's libraries bring threads of their own, and what Comity does with each.
#pragma once

#include <string>
#include <vector>

#include "libraries.hpp"

namespace comity::cli {

enum class verdict {
    served,  // runs on Comity's harts
    adopted, // keeps its threads; each is adopted while it is inside a parallel region that Comity serves
    alone,   // has no threads to share
};

struct runtime {
    std::string kind; // "libgomp (OpenMP)", "OpenBLAS with POSIX threads", ...
    std::string path;
    verdict what = verdict::alone;
    std::string explanation;
};

// Does `comity run` serve the threads of the program, which is loaded with these libraries, unless it is told? It does
// where a library is among them, or may come, that computes in parallel: there is something to share. So it does with a
// program that makes none itself, but may start others, such as a shell. Not with one that binds threads to CPUs
// itself.
bool serves_threads(const std::string &program, const std::vector<library> &libraries);
bool serves_threads(const std::string &program); // those that the loader would load
// The same for people, of whichever program, or of this one.
const char *whose_threads(bool served);
std::string whose_threads(const std::string &program, bool served);
// Has it a runtime whose threads Comity never serves?
bool has_own_stacks(const std::string &program);
// Is it one whose files tell little: an interpreter for programs that compute in parallel, or one that starts others?
bool is_known_by_others(const std::string &program);

// Comity's own libraries are none of them.
std::vector<runtime> find_runtimes(const std::vector<library> &libraries, bool serves_threads);

// "served", "adopted", "left-alone"
std::string verdict_name(verdict what);

// Does the file name of one of the libraries begin like this?
bool has_library(const std::vector<library> &libraries, const char *start);

} // namespace comity::cli
