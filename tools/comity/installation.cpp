#include "installation.hpp"

#include <climits>
#include <cstdlib>

#include <unistd.h>

#include <fmt/format.h>

namespace comity::cli {

const std::vector<std::string> &drop_in_names() {
    static const std::vector<std::string> names{"libgomp.so.1",      "libomp.so.5",          "libcomity_iomp5.so",
                                                "libcomity_blas.so", "libcomity_pthread.so", "libcomity_threads.so"};
    return names;
}

// The last two are for the same functions.
std::vector<std::string> preloaded_names(bool posix) {
    std::vector<std::string> names;
    for (const std::string &name : drop_in_names())
        if (name != (posix ? "libcomity_pthread.so" : "libcomity_threads.so")) names.push_back(name);
    return names;
}

installation find_installation() {
    installation found;
    char path[PATH_MAX];
    const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
    if (length <= 0 || length == sizeof path) return found;
    found.program.assign(path, static_cast<std::size_t>(length));
    std::string prefix = found.program.substr(0, found.program.rfind('/'));
    prefix.resize(prefix.rfind('/') == std::string::npos ? 0 : prefix.rfind('/'));
    for (const char *libraries : {COMITY_LIBRARY_FOLDER, "lib", "lib64"}) {
        const std::string folder = fmt::format("{}/{}/comity", prefix, libraries);
        if (!found.looked_in.empty() && found.looked_in.front() == folder) continue;
        found.looked_in.push_back(folder);
        if (::access(folder.c_str(), X_OK) != 0) continue;
        found.folder = folder;
        for (const std::string &name : drop_in_names())
            if (::access(fmt::format("{}/{}", folder, name).c_str(), R_OK) != 0) found.missing.push_back(name);
        constexpr const char *core = "libcomity_openmp.so"; // the first three need it
        if (::access(fmt::format("{}/{}", folder, core).c_str(), R_OK) != 0) found.missing.emplace_back(core);
        return found;
    }
    return found;
}

} // namespace comity::cli
