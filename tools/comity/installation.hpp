// Where the rest of Comity is: found from where this program is, so that build folders and installations may be moved.
#pragma once

#include <string>
#include <vector>

namespace comity::cli {

struct installation {
    std::string program;                // this program
    std::string folder;                 // of the drop-ins; empty when none was found
    std::vector<std::string> looked_in; // the folders that were tried
    std::vector<std::string> missing;   // drop-ins that are not in `folder`
    bool is_complete() const { return !folder.empty() && missing.empty(); }
};

// All drop-ins, by file name.
const std::vector<std::string> &drop_in_names();
// Those that `comity run` preloads, in their order; posix: the program's own threads are Comity's, too.
std::vector<std::string> preloaded_names(bool posix);

installation find_installation();

} // namespace comity::cli
