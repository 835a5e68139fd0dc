#include "installation.hpp"

#include <cerrno>
#include <climits>
#include <cstdlib>

#include <sys/auxv.h>
#include <sys/stat.h>
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

std::string own_path() {
    char path[PATH_MAX];
    const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
    if (length > 0 && length < PATH_MAX) return std::string(path, static_cast<std::size_t>(length));
    const auto *executed = reinterpret_cast<const char *>(::getauxval(AT_EXECFN));
    if (!executed) return {};
    if (::realpath(executed, path)) return path;
    if (*executed == '/') return executed;
    return ::getcwd(path, sizeof path) ? fmt::format("{}/{}", path, executed) : std::string();
}

int access_error(const std::string &path, int how) {
    if (::access(path.c_str(), how) == 0) return 0;
    const int error = errno;
    static const bool is_refused = ::access("/", F_OK) != 0;
    if (!is_refused) return error;
    struct stat file {};
    if (::stat(path.c_str(), &file) != 0) return errno;
    constexpr mode_t by_any = S_IXUSR | S_IXGRP | S_IXOTH;
    return how == X_OK && !(file.st_mode & by_any) ? EACCES : 0;
}

installation find_installation() {
    installation found;
    found.program = own_path();
    if (found.program.empty()) return found;
    std::string prefix = found.program.substr(0, found.program.rfind('/'));
    prefix.resize(prefix.rfind('/') == std::string::npos ? 0 : prefix.rfind('/'));
    for (const char *libraries : {COMITY_LIBRARY_FOLDER, "lib", "lib64"}) {
        const std::string folder = fmt::format("{}/{}/comity", prefix, libraries);
        if (!found.looked_in.empty() && found.looked_in.front() == folder) continue;
        found.looked_in.push_back(folder);
        if (access_error(folder, X_OK) != 0) continue;
        found.folder = folder;
        for (const std::string &name : drop_in_names())
            if (access_error(fmt::format("{}/{}", folder, name), R_OK) != 0) found.missing.push_back(name);
        constexpr const char *core = "libcomity_openmp.so"; // the first three need it
        if (access_error(fmt::format("{}/{}", folder, core), R_OK) != 0) found.missing.emplace_back(core);
        return found;
    }
    return found;
}

} // namespace comity::cli
