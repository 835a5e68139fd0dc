#include "sys/cpu_set.hpp"

#include <cerrno>

#include <sys/syscall.h>
#include <unistd.h>

#include "sys/c_library.hpp"
#include "sys/errno_kept.hpp"
#include "sys/process.hpp"
#include "sys/text_file.hpp"

namespace comity::sys {

int cpu_set::next(int from) const noexcept {
    if (from < 0) from = 0;
    if (from >= most) return -1;
    std::size_t w = word(from);
    std::uint64_t rest = words_[w] & ~(bit(from) - 1);
    while (!rest) {
        if (++w == words) return -1;
        rest = words_[w];
    }
    return static_cast<int>(w * 64) + __builtin_ctzll(rest);
}

unsigned cpu_set::count() const noexcept {
    unsigned n = 0;
    for (const std::uint64_t w : words_) n += static_cast<unsigned>(__builtin_popcountll(w));
    return n;
}

bool parse_cpu_list(const char *text, cpu_set &set) noexcept {
    set = {};
    cpu_set found;
    while (text) {
        std::int64_t first = 0, last = 0;
        if (!read_number(text, first, &text) || first < 0) return false;
        last = first;
        if (*text == '-' && (!read_number(text + 1, last, &text) || last < first)) return false;
        if (last >= cpu_set::most) return false;
        for (std::int64_t cpu = first; cpu <= last; ++cpu) found.add(static_cast<int>(cpu));
        if (!*text) break;
        if (*text++ != ',') return false;
    }
    set = found;
    return text != nullptr;
}

bool get_thread_cpus(int thread_id, cpu_set &set) noexcept {
    const errno_kept keep;
    set = {};
    return ::syscall(SYS_sched_getaffinity, thread_id, sizeof set, set.data()) > 0;
}

// Past a preloaded one, to which it would be the program that binds the thread.
static constinit own_function<long (*)(long, ...)> own_syscall{"syscall"};
[[gnu::constructor]] static void find_early() noexcept { own_syscall.find(); }

int set_thread_cpus(int thread_id, const cpu_set &set) noexcept {
    const errno_kept keep;
    return own_syscall.find()(SYS_sched_setaffinity, thread_id, sizeof set, set.data()) == 0 ? 0 : errno;
}

const cpu_set &process_cpus() noexcept {
    return made_once([] {
        cpu_set set;
        if (!get_thread_cpus(::getpid(), set)) get_thread_cpus(0, set);
        return set;
    });
}

} // namespace comity::sys
