// Which libraries a program loads: those that the loader would load at its start, found by reading files as it does,
// and those that a running process has mapped. Nothing is executed.
#pragma once

#include <string>
#include <vector>

namespace comity::cli {

struct library {
    std::string name; // as it is asked for; for a running process the file's name
    std::string path; // empty: not found
};

// The file at `path` itself comes first. Breadth first, as the loader's search order is. Follows RPATH, RUNPATH,
// LD_LIBRARY_PATH, the loader's cache and its standard folders.
std::vector<library> find_libraries(const std::string &path);

struct process_report {
    std::string error; // why the process cannot be examined; then the rest is empty
    std::string program;
    std::vector<library> libraries; // with the program's file first
    long threads = 0;
    unsigned affinity = 0;
    bool is_run = false; // by `comity run`, or by what that has started
    std::string posix;   // COMITY_POSIX, as it was started
};
process_report examine_process(long pid);

} // namespace comity::cli
