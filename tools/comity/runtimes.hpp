// Which of a program's libraries bring threads of their own, and what Comity does with each.
#pragma once

#include <string>
#include <vector>

#include "libraries.hpp"

namespace comity::cli {

enum class verdict {
    served,  // runs on Comity's harts
    adopted, // keeps its threads, since no library that computes in parallel is beside it; each is adopted while it is
             // inside a parallel region that Comity serves
    alone,   // has no threads to share
};

struct runtime {
    std::string kind; // "libgomp (OpenMP)", "OpenBLAS with POSIX threads", ...
    std::string path;
    verdict what = verdict::alone;
    std::string explanation;
};

// Comity's own libraries are none of them; where they are there they say whether it serves the threads of others.
std::vector<runtime> find_runtimes(const std::vector<library> &libraries);

// "served", "adopted", "left-alone"
std::string verdict_name(verdict what);

// Does the file name of one of the libraries begin like this?
bool has_library(const std::vector<library> &libraries, const char *start);

} // namespace comity::cli
