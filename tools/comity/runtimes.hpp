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

// `drop_ins_here`: the drop-ins are installed, so what they serve is served.
std::vector<runtime> find_runtimes(const std::vector<library> &libraries);

// "served", "adopted", "left-alone"
std::string verdict_name(verdict what);

// Is one of the libraries Comity's own?
bool has_comity(const std::vector<library> &libraries);

} // namespace comity::cli
