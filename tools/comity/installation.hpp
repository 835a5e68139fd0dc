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

// The file of this program, as /proc tells; without that as it was executed. Empty: neither.
std::string own_path();

// 0, or why the caller may not do that with the file (F_OK, R_OK, X_OK). Where a sandbox refuses access(2) itself the
// file's state says as much as it can, and the rest shows when it is read or executed.
int access_error(const std::string &path, int how);

} // namespace comity::cli
