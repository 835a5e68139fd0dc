#include "libraries.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <set>
#include <unordered_map>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "elf_file.hpp"
#include "sys/cpu_limits.hpp"
#include "sys/text_file.hpp"

namespace comity::cli {
namespace {

using folder_list = std::vector<std::string>;

void replace_all(std::string &text, const std::string &part, const std::string &by) {
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += by.size())
        text.replace(at, part.size(), by);
}

std::string folder_of(const std::string &path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash ? slash : 1);
}

folder_list split_folders(const std::string &list, const char *separators, const std::string &origin) {
    folder_list folders;
    for (std::size_t at = 0; !list.empty() && at <= list.size();) {
        const std::size_t end = std::min(list.find_first_of(separators, at), list.size());
        std::string folder = list.substr(at, end - at);
        replace_all(folder, "$ORIGIN", origin);
        replace_all(folder, "${ORIGIN}", origin);
        folders.push_back(folder.empty() ? "." : folder);
        at = end + 1;
    }
    return folders;
}

std::string real_path(const std::string &path) {
    char *found = ::realpath(path.c_str(), nullptr);
    std::string result = found ? found : path;
    std::free(found); // NOLINT: realpath's own allocation
    return result;
}

// /etc/ld.so.cache in the format of glibc 2.2 and later: after possibly an older part, the magic, the number of
// entries, the length of the texts, 20 bytes; then entries of 24 bytes. Offsets of texts count from the magic.
// A library may stand there several times, the best first, and for other machines, too.
std::unordered_map<std::string, folder_list> read_loader_cache() {
    std::unordered_map<std::string, folder_list> cache;
    std::ifstream file("/etc/ld.so.cache", std::ios::binary);
    const std::string all((std::istreambuf_iterator<char>(file)), {});
    const std::size_t start = all.find("glibc-ld.so.cache1.1");
    constexpr std::size_t header = 48;
    constexpr std::size_t entry = 24;
    if (start == std::string::npos || all.size() < start + header) return cache;
    std::uint32_t count = 0;
    std::memcpy(&count, all.data() + start + 20, sizeof count);
    const auto text_at = [&](std::uint32_t offset) -> const char * {
        return start + offset < all.size() ? all.c_str() + start + offset : "";
    };
    for (std::size_t i = 0; i < count && start + header + (i + 1) * entry <= all.size(); ++i) {
        std::uint32_t words[3]; // flags, name, path
        std::memcpy(words, all.data() + start + header + i * entry, sizeof words);
        cache[text_at(words[1])].emplace_back(text_at(words[2]));
    }
    return cache;
}

class resolver {
public:
    std::vector<library> resolve(const std::string &path) {
        found_.push_back({path, real_path(path)});
        waiting_.push_back({real_path(path), {}});
        while (!waiting_.empty()) {
            const request next = waiting_.front();
            waiting_.pop_front();
            const auto head = read_elf_head(next.path);
            if (head && head->is_native) take_needed(next, *head);
        }
        return found_;
    }

private:
    struct request {
        std::string path;
        folder_list inherited; // the RPATHs of those that asked for it
    };

    void take_needed(const request &from, const elf_head &head) {
        const std::string origin = folder_of(from.path);
        folder_list rpath;
        if (head.runpath.empty()) {
            rpath = split_folders(head.rpath, ":", origin);
            rpath.insert(rpath.end(), from.inherited.begin(), from.inherited.end());
        }
        for (const std::string &name : head.needed) {
            if (!seen_.insert(name).second) continue;
            const std::string path = find(name, rpath, split_folders(head.runpath, ":", origin));
            found_.push_back({name, path});
            if (!path.empty()) waiting_.push_back({path, rpath});
        }
    }

    std::string find(const std::string &name, const folder_list &rpath, const folder_list &runpath) {
        if (name.find('/') != std::string::npos) return is_native(name) ? real_path(name) : "";
        const char *library_path = std::getenv("LD_LIBRARY_PATH");
        for (const folder_list &folders : {rpath, split_folders(library_path ? library_path : "", ":;", "."), runpath})
            if (std::string path = find_in(folders, name); !path.empty()) return path;
        if (cache_.empty()) cache_ = read_loader_cache();
        for (const std::string &path : cache_[name])
            if (is_native(path)) return real_path(path);
        return find_in({"/lib64", "/usr/lib64", "/lib", "/usr/lib"}, name);
    }

    static std::string find_in(const folder_list &folders, const std::string &name) {
        for (const std::string &folder : folders)
            if (const auto path = fmt::format("{}/{}", folder, name); is_native(path)) return real_path(path);
        return {};
    }

    static bool is_native(const std::string &path) {
        const auto head = read_elf_head(path);
        return head && head->is_native;
    }

    std::vector<library> found_;
    std::deque<request> waiting_;
    std::set<std::string> seen_;
    std::unordered_map<std::string, folder_list> cache_;
};

std::string process_error(long pid, int error) {
    if (error == ENOENT || error == ESRCH) return fmt::format("there is no process {}", pid);
    if (error == EACCES || error == EPERM)
        return fmt::format("process {} is not ours to look at{}", pid,
                           ::geteuid() == 0 ? ", not even as root: it may be another container's, or protected"
                                            : "; try with sudo");
    return fmt::format("process {}: {}", pid, std::strerror(error));
}

long count_threads(const std::string &folder) {
    sys::line_reader status((folder + "/status").c_str());
    while (const char *line = status.next()) {
        std::int64_t threads = 0;
        if (std::strncmp(line, "Threads:", 8) == 0 && sys::read_number(line + 8, threads))
            return static_cast<long>(threads);
    }
    return 0;
}

} // namespace

std::vector<library> find_libraries(const std::string &path) { return resolver().resolve(path); }

process_report examine_process(long pid) {
    process_report report;
    const std::string folder = fmt::format("/proc/{}", pid);
    std::vector<char> target(4096);
    const ssize_t length = ::readlink((folder + "/exe").c_str(), target.data(), target.size());
    const int link_error = length < 0 ? errno : 0;
    errno = 0;
    std::ifstream maps(folder + "/maps");
    if (link_error || !maps) {
        report.error = ::access(folder.c_str(), F_OK) == 0 && link_error == ENOENT
                           ? fmt::format("process {} is a thread of the kernel or has ended", pid)
                           : process_error(pid, link_error ? link_error : errno);
        return report;
    }
    report.program.assign(target.data(), static_cast<std::size_t>(length));
    report.libraries.push_back({report.program, folder + "/exe"});
    report.threads = count_threads(folder);
    report.affinity = sys::count_affinity(static_cast<int>(pid));
    std::ifstream environment(folder + "/environ");
    for (std::string variable; std::getline(environment, variable, '\0');) {
        if (variable == "COMITY_RUN=1") report.is_run = true;
        if (variable.starts_with("COMITY_POSIX=")) report.posix = variable.substr(variable.find('=') + 1);
    }
    // ADDRESSES RIGHTS OFFSET DEVICE INODE PATH; the path is the process' own view, which /proc/PID/root translates.
    std::set<std::string> seen{report.program};
    for (std::string line; std::getline(maps, line);) {
        const std::size_t at = line.find('/');
        if (at == std::string::npos || line.find(" r-xp ") == std::string::npos) continue;
        const std::string path = line.substr(at);
        if (!seen.insert(path).second) continue;
        const std::string inside = fmt::format("{}/root{}", folder, path);
        report.libraries.push_back({path, ::access(inside.c_str(), R_OK) == 0 ? inside : path});
    }
    return report;
}

} // namespace comity::cli
