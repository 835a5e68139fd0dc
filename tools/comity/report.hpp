// What `comity doctor` prints, in both its forms.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "machine.hpp"
#include "runtimes.hpp"

namespace comity::cli {

struct program_report {
    std::string name; // as asked
    std::string path;
    long pid = 0; // of a running process; else 0
    std::vector<std::string> interpreters;
    std::string problem;  // why it cannot be run or examined at all
    std::string obstacle; // why Comity would stand aside
    bool is_under_comity = false;
    long threads = 0;
    unsigned affinity = 0;
    std::vector<std::string> missing_libraries;
    std::vector<runtime> runtimes;
    std::vector<std::string> notes;
};

void print_text(const machine_report &machine, const std::optional<program_report> &program);
void print_json(const machine_report &machine, const std::optional<program_report> &program);

} // namespace comity::cli
