#include "sys/cpu_limits.hpp"

#include <cstdint>
#include <cstring>

#include <unistd.h>

#include "sys/cpu_set.hpp"
#include "sys/message.hpp"
#include "sys/text_file.hpp"

namespace comity::sys {
namespace {

constexpr unsigned path_size = 1024; // kept small: this may run on a small stack of a foreign thread
constexpr std::int64_t most_thousandths = 1'000'000'000; // a million cores: more is as good as no limit

// Takes the next field of a line, ended by `end`; the rest starts behind it. nullptr when nothing is left.
char *take_field(char *&rest, char end) noexcept {
    if (!rest) return nullptr;
    char *field = rest;
    rest = std::strchr(rest, end);
    if (rest) *rest++ = '\0';
    return field;
}

bool has_word(char *list, const char *word) noexcept {
    while (char *item = take_field(list, ','))
        if (std::strcmp(item, word) == 0) return true;
    return false;
}

// mountinfo writes blanks, tabs, new lines and backslashes as three octal digits.
void unescape(char *text) noexcept {
    const auto octal = [](char c) { return c >= '0' && c <= '7'; };
    char *to = text;
    for (; *text; ++text) {
        if (*text == '\\' && octal(text[1]) && octal(text[2]) && octal(text[3])) {
            *to++ = static_cast<char>((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0'));
            text += 3;
        } else
            *to++ = *text;
    }
    *to = '\0';
}

enum class hierarchy { version_1, version_2 };

// Where the process stands in a hierarchy, as /proc/self/cgroup says: ID:CONTROLLERS:PATH.
bool find_cgroup(const char *root, hierarchy kind, char (&path)[path_size]) noexcept {
    char name[path_size];
    format_text(name, sizeof name, "%s/proc/self/cgroup", root);
    line_reader file(name);
    while (char *line = file.next()) {
        const char *id = take_field(line, ':');
        char *controllers = take_field(line, ':');
        if (!controllers || !line) continue;
        const bool found =
            kind == hierarchy::version_2 ? std::strcmp(id, "0") == 0 && !*controllers : has_word(controllers, "cpu");
        if (!found) continue;
        format_text(path, sizeof path, "%s", line);
        return true;
    }
    return false;
}

struct mount {
    char point[path_size]; // without the trailing slash
    char root[path_size];  // the cgroup that is mounted there: not "/" inside containers
};

// Fields of /proc/self/mountinfo: id, parent, device, root, mount point, options, optional fields, "-", type, source,
// options of the file system.
bool find_mount(const char *root, hierarchy kind, mount &found) noexcept {
    char name[path_size];
    format_text(name, sizeof name, "%s/proc/self/mountinfo", root);
    line_reader file(name);
    while (char *line = file.next()) {
        char *tail = std::strstr(line, " - ");
        if (!tail) continue;
        *tail = '\0';
        tail += 3;
        const char *type = take_field(tail, ' ');
        take_field(tail, ' '); // the source
        const bool wanted = kind == hierarchy::version_2
                                ? std::strcmp(type, "cgroup2") == 0
                                : std::strcmp(type, "cgroup") == 0 && tail && has_word(tail, "cpu");
        if (!wanted) continue;
        for (int skipped = 0; skipped < 3; ++skipped) take_field(line, ' ');
        char *mounted = take_field(line, ' ');
        char *point = take_field(line, ' ');
        if (!mounted || !point) continue;
        unescape(mounted);
        unescape(point);
        format_text(found.root, sizeof found.root, "%s", mounted);
        format_text(found.point, sizeof found.point, "%s%s", root, std::strcmp(point, "/") == 0 ? "" : point);
        return true;
    }
    return false;
}

// The part of the process' path below what is mounted; "" when the path lies outside, as in a cgroup namespace: then
// only the mount point itself can be seen.
const char *path_below(const char *path, const char *mounted_root) noexcept {
    if (std::strstr(path, "/..")) return "";
    const std::size_t length = std::strcmp(mounted_root, "/") == 0 ? 0 : std::strlen(mounted_root);
    if (std::strncmp(path, mounted_root, length) != 0) return "";
    path += length;
    return *path == '/' && path[1] ? path : "";
}

// "50000 100000" or "max 100000"
bool read_quota_v2(const char *folder, std::int64_t &quota, std::int64_t &period) noexcept {
    char name[path_size];
    format_text(name, sizeof name, "%s/cpu.max", folder);
    line_reader file(name);
    const char *line = file.next();
    return line && read_number(line, quota, &line) && read_number(line, period);
}

bool read_quota_v1(const char *folder, std::int64_t &quota, std::int64_t &period) noexcept {
    char name[path_size];
    format_text(name, sizeof name, "%s/cpu.cfs_quota_us", folder);
    if (!read_number_file(name, quota)) return false;
    format_text(name, sizeof name, "%s/cpu.cfs_period_us", folder);
    return read_number_file(name, period);
}

void take_quota(hierarchy kind, const char *folder, std::size_t root_length, cpu_limits &limits) noexcept {
    std::int64_t quota = 0;
    std::int64_t period = 0;
    const bool known =
        kind == hierarchy::version_2 ? read_quota_v2(folder, quota, period) : read_quota_v1(folder, quota, period);
    std::int64_t thousandths = 0;
    if (!known || quota <= 0 || period <= 0 || __builtin_mul_overflow(quota, 1000, &thousandths)) return;
    thousandths = thousandths / period + (thousandths % period != 0);
    if (thousandths > most_thousandths) return;
    if (limits.quota_thousandths && limits.quota_thousandths <= thousandths) return;
    limits.quota_thousandths = static_cast<unsigned>(thousandths);
    format_text(limits.quota_folder, sizeof limits.quota_folder, "%s", folder + root_length);
}

// A parent's quota holds for its children too: looks at every folder from the process' own up to the mount point.
void read_hierarchy(const char *root, hierarchy kind, cpu_limits &limits) noexcept {
    mount found;
    char path[path_size];
    if (!find_mount(root, kind, found) || !find_cgroup(root, kind, path)) return;
    char folder[2 * path_size];
    const std::size_t top = std::strlen(found.point);
    std::size_t length = format_text(folder, sizeof folder, "%s%s", found.point, path_below(path, found.root));
    for (;;) {
        take_quota(kind, folder, std::strlen(root), limits);
        if (length <= top) return;
        do --length;
        while (length > top && folder[length] != '/');
        folder[length] = '\0';
    }
}

} // namespace

unsigned cpu_limits::usable() const noexcept {
    unsigned cores = affinity ? affinity : online;
    const unsigned quota = (quota_thousandths + 999) / 1000;
    if (quota && (!cores || quota < cores)) cores = quota;
    return cores ? cores : 1;
}

unsigned count_affinity(int thread_id) noexcept {
    cpu_set set;
    return get_thread_cpus(thread_id, set) ? set.count() : 0;
}

// "0-3,8,10-11"; anything that does not look so counts as unknown.
unsigned count_online(const char *root) noexcept {
    char name[path_size];
    format_text(name, sizeof name, "%s/sys/devices/system/cpu/online", root);
    line_reader file(name);
    cpu_set set;
    const char *text = file.next();
    return text && parse_cpu_list(text, set) ? set.count() : 0;
}

void read_cgroup_quota(const char *root, cpu_limits &limits) noexcept {
    read_hierarchy(root, hierarchy::version_2, limits);
    read_hierarchy(root, hierarchy::version_1, limits);
}

cpu_limits read_cpu_limits(const char *root) noexcept {
    cpu_limits limits;
    limits.online = count_online(root);
    // The first thread's mask, not the caller's: threads that libraries pin to one core shall not shrink the machine.
    limits.affinity = count_affinity(static_cast<int>(::getpid()));
    read_cgroup_quota(root, limits);
    return limits;
}

} // namespace comity::sys
