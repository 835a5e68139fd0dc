#include "personality/openmp/environment.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <strings.h>
#include <utility>

#include "core/own_code.hpp"
#include "core/runtime.hpp"
#include "model/spmd/team.hpp"
#include "personality/openmp/affinity_environment.hpp"
#include "personality/openmp/affinity_format.hpp"
#include "personality/openmp/memory.hpp"
#include "personality/openmp/places.hpp"
#include "sys/loaded_objects.hpp"
#include "sys/message.hpp"
#include "sys/options.hpp"
#include "sys/process.hpp"

extern "C" char **environ; // the C library's

namespace comity::openmp {

process_icvs process;

namespace {

bool is_blank(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }

// A piece of a variable's text, without blanks around it.
struct word {
    const char *begin, *end;

    word(const char *b, const char *e) noexcept : begin(b), end(e) {
        while (begin < end && is_blank(*begin)) ++begin;
        while (end > begin && is_blank(end[-1])) --end;
    }
    std::size_t size() const noexcept { return static_cast<std::size_t>(end - begin); }
    bool is(const char *text) const noexcept {
        return size() == std::strlen(text) && !::strncasecmp(begin, text, size());
    }
};

word whole(const char *text) noexcept { return {text, text + std::strlen(text)}; }

bool to_number(word w, long least, long most, long &number) noexcept {
    if (!w.size() || w.size() > 20) return false;
    char digits[24] = {};
    std::memcpy(digits, w.begin, w.size());
    char *end;
    errno = 0;
    const long value = std::strtol(digits, &end, 10);
    if (*end || errno || value < least || value > most) return false;
    number = value;
    return true;
}

bool to_flag(word w, bool &flag) noexcept {
    static constexpr const char *yes[] = {"true", "t", ".true.", ".t.", "yes", "y", "on", "1", "enabled"};
    static constexpr const char *no[] = {"false", "f", ".false.", ".f.", "no", "n", "off", "0", "disabled"};
    const auto is = [w](const char *text) { return w.is(text); };
    const bool is_yes = std::any_of(std::begin(yes), std::end(yes), is);
    if (!is_yes && std::none_of(std::begin(no), std::end(no), is)) return false;
    flag = is_yes;
    return true;
}

// Reads the variables. A value that is not allowed gives one line on standard error and counts as not given. `nested`:
// whether regions within regions are parallel when nothing is said.
class reader {
public:
    explicit reader(process_icvs &into) noexcept : p_(into) {}
    void read_all(bool nested) noexcept;

private:
    void complain(const char *variable, const char *allowed, const char *instead) noexcept {
        sys::warn("%s=\"%s\": not %s; using %s", variable, look_up(variable), allowed, instead);
    }

    template <class T> bool number(const char *variable, long least, long most, T &into, const char *instead) noexcept;
    bool flag(const char *variable, bool &into) noexcept;
    // Splits at commas; false, with a complaint, unless one(word) likes all of them.
    template <class F> bool list(const char *variable, const char *allowed, const char *instead, F one) noexcept;
    void num_threads() noexcept;
    void schedule() noexcept;
    void proc_bind() noexcept;
    void levels(bool nested) noexcept;
    void stack_size() noexcept;
    void blocktime() noexcept;
    void spin_count() noexcept;
    void library() noexcept;
    void others() noexcept;

    process_icvs &p_;
};

template <class T>
bool reader::number(const char *variable, long least, long most, T &into, const char *instead) noexcept {
    const char *text = look_up(variable);
    if (!text) return false;
    long value;
    if (to_number(whole(text), least, most, value)) {
        into = static_cast<T>(value);
        return true;
    }
    char allowed[80];
    sys::format_text(allowed, sizeof allowed, "a whole number from %ld to %ld", least, most);
    complain(variable, allowed, instead);
    return false;
}

bool reader::flag(const char *variable, bool &into) noexcept {
    const char *text = look_up(variable);
    if (!text) return false;
    if (to_flag(whole(text), into)) return true;
    complain(variable, "true or false", into ? "true" : "false");
    return false;
}

template <class F> bool reader::list(const char *variable, const char *allowed, const char *instead, F one) noexcept {
    const char *text = look_up(variable);
    if (!text) return false;
    for (const char *begin = text;;) {
        const char *comma = std::strchr(begin, ',');
        if (!one(word(begin, comma ? comma : begin + std::strlen(begin)))) {
            complain(variable, allowed, instead);
            return false;
        }
        if (!comma) return true;
        begin = comma + 1;
    }
}

void reader::num_threads() noexcept {
    unsigned listed = 0;
    bool cut = false;
    unsigned values[process_icvs::list_size];
    const auto one = [&](word w) {
        long value;
        if (listed > 0 && w.size() == 0 && !*w.end) return true; // "3,": as in libomp
        if (!to_number(w, 1, LONG_MAX, value)) return false;
        cut |= value > long{most_ranks};
        if (listed < process_icvs::list_size)
            values[listed++] = value > long{most_ranks} ? most_ranks : static_cast<unsigned>(value);
        return true;
    };
    if (!list("OMP_NUM_THREADS", "a list of whole numbers from 1", "as many threads as there are harts", one)) return;
    if (cut)
        sys::warn("OMP_NUM_THREADS=\"%s\": a region can have %u threads; using that", look_up("OMP_NUM_THREADS"),
                  most_ranks);
    std::memcpy(p_.num_threads, values, listed * sizeof *values);
    p_.num_threads_listed = listed;
    p_.initial.num_threads = values[0];
}

// [monotonic: | nonmonotonic:] kind [, chunk]
void reader::schedule() noexcept {
    static constexpr const char *names[] = {"", "static", "dynamic", "guided", "auto"};
    const char *text = look_up("OMP_SCHEDULE");
    if (!text) return;
    const char *colon = std::strchr(text, ':');
    bool good = true, monotonic = false;
    if (colon) {
        const word modifier(text, colon);
        monotonic = modifier.is("monotonic");
        good = monotonic || modifier.is("nonmonotonic");
    }
    const char *begin = colon ? colon + 1 : text, *comma = std::strchr(begin, ',');
    const word kind(begin, comma ? comma : begin + std::strlen(begin));
    unsigned found = 0;
    for (unsigned i = 1; i <= 4; ++i)
        if (kind.is(names[i])) found = i;
    const auto plain = static_cast<schedule_kind>(found);
    long chunk = plain != schedule_kind::fixed;
    if (!good || !found ||
        (comma && !to_number(whole(comma + 1), plain == schedule_kind::fixed ? 0 : 1, INT_MAX, chunk))) {
        complain("OMP_SCHEDULE", "static, dynamic, guided or auto, with a chunk size from 1 after a comma or without",
                 "the library's default (dynamic in gcc's, static in LLVM's)");
        return;
    }
    p_.initial.schedule = plain;
    p_.initial.schedule_given = true;
    p_.initial.chunk = static_cast<int>(chunk);
    p_.initial.monotonic = monotonic;
    p_.initial.implicitly_monotonic = !colon && plain == schedule_kind::fixed;
}

void reader::proc_bind() noexcept {
    bool flag_value;
    const char *text = look_up("OMP_PROC_BIND");
    if (text && to_flag(whole(text), flag_value)) {
        p_.initial.bind = p_.bind[0] = flag_value;
        p_.bind_listed = 1;
        return;
    }
    unsigned listed = 0;
    std::uint8_t values[process_icvs::list_size];
    const auto one = [&](word w) {
        static constexpr struct {
            const char *name;
            std::uint8_t value;
        } kinds[] = {{"master", 2}, {"primary", 2}, {"close", 3}, {"spread", 4}, {"unset", 5}};
        for (const auto &kind : kinds)
            if (w.is(kind.name)) {
                if (listed < process_icvs::list_size) values[listed++] = kind.value;
                return true;
            }
        return false;
    };
    if (!list("OMP_PROC_BIND", "true, false, or a list of primary, master, close, spread and unset", "false", one))
        return;
    std::memcpy(p_.bind, values, listed);
    p_.bind_listed = listed;
    p_.initial.bind = values[0];
}

// OMP_MAX_ACTIVE_LEVELS wins over OMP_NESTED; lists ask for nesting too, as in libgomp.
void reader::levels(bool nested) noexcept {
    bool asked = nested || p_.num_threads_listed > 1 || p_.bind_listed > 1;
    flag("OMP_NESTED", asked);
    p_.initial.max_active_levels = asked ? most_levels : 1;
    const char *instead = asked ? "255" : "1";
    long most;
    if (const char *text = look_up("OMP_MAX_ACTIVE_LEVELS")) {
        if (to_number(whole(text), 0, LONG_MAX, most))
            p_.initial.max_active_levels =
                static_cast<std::uint8_t>(most < long{most_levels} ? most : long{most_levels});
        else
            complain("OMP_MAX_ACTIVE_LEVELS", "a whole number from 0", instead);
    }
}

// In KiB, or bytes, or with B, K, M or G. Reads it into `bytes` if it is one.
bool to_stack_size(word w, bool in_bytes, std::uint64_t &bytes) noexcept {
    constexpr std::uint64_t least = 16 << 10, most = std::uint64_t{64} << 30; // as COMITY_STACK_SIZE
    static constexpr char units[] = "bkmg";
    unsigned shift = in_bytes ? 0 : 10;
    const char *unit = w.size() ? std::strchr(units, w.end[-1] | 0x20) : nullptr;
    if (unit && *unit) {
        shift = static_cast<unsigned>(unit - units) * 10;
        w = word(w.begin, w.end - 1);
    }
    long value;
    if (!to_number(w, 1, LONG_MAX >> shift, value)) return false;
    bytes = static_cast<std::uint64_t>(value) << shift;
    return bytes >= least && bytes <= most;
}

// The first that is right counts.
void reader::stack_size() noexcept {
    for (const char *variable : {"KMP_STACKSIZE", "OMP_STACKSIZE", "GOMP_STACKSIZE"}) {
        const char *text = look_up(variable);
        if (!text) continue;
        std::uint64_t bytes;
        const bool in_bytes = *variable == 'K';
        if (to_stack_size(whole(text), in_bytes, bytes)) {
            p_.stack_size = bytes;
            return;
        }
        complain(variable,
                 in_bytes ? "a size from 16K to 64G, in bytes or with B, K, M or G"
                          : "a size from 16K to 64G, in KiB or with B, K, M or G",
                 "the default");
    }
}

// In milliseconds, or with ms or us; or infinite.
void reader::blocktime() noexcept {
    const char *text = look_up("KMP_BLOCKTIME");
    if (!text) return;
    word w = whole(text);
    long scale = 1000, value;
    for (const auto &[unit, us] : {std::pair{"ms", 1000L}, std::pair{"us", 1L}})
        if (w.size() > 2 && word(w.end - 2, w.end).is(unit)) {
            scale = us;
            w = word(w.begin, w.end - 2);
            break;
        }
    if (w.is("infinite") || w.is("infinity"))
        p_.spin_us = longest_spin_us;
    else if (to_number(w, 0, INT_MAX, value))
        p_.spin_us = static_cast<int>(value * scale < longest_spin_us ? value * scale : longest_spin_us);
    else
        complain("KMP_BLOCKTIME", "a number of milliseconds, or with ms or us, or infinite", "what suits");
}

// How often a waiting thread of libgomp's looks before it sleeps: infinite, or a number with k, M, G or T. Here it is a
// time, by libgomp's own estimate of 100 looks in a microsecond.
void reader::spin_count() noexcept {
    constexpr long looks_per_us = 100;
    const char *text = look_up("GOMP_SPINCOUNT");
    if (!text) return;
    static constexpr char units[] = "kmgt";
    word w = whole(text);
    long scale = 1, value;
    if (const char *unit = w.size() > 1 ? std::strchr(units, w.end[-1] | 0x20) : nullptr; unit && *unit) {
        for (auto i = unit - units; i >= 0; --i) scale *= 1000;
        w = word(w.begin, w.end - 1);
    }
    if (w.is("infinite") || w.is("infinity"))
        p_.spin_us = longest_spin_us;
    else if (to_number(w, 0, LONG_MAX / scale, value))
        p_.spin_us = static_cast<int>(std::min(value * scale / looks_per_us, long{longest_spin_us}));
    else
        complain("GOMP_SPINCOUNT", "a whole number from 0, with k, M, G or T or without, or infinite", "what suits");
}

// serial: one thread; turnaround: the machine is ours, so waiting threads spin; throughput: what holds anyway.
void reader::library() noexcept {
    const char *text = look_up("KMP_LIBRARY");
    if (!text) return;
    const word w = whole(text);
    if (w.is("serial")) {
        p_.library = process_icvs::library_kind::serial;
        p_.num_threads[0] = p_.initial.num_threads = p_.num_threads_listed = 1;
    } else if (w.is("turnaround") || w.is("dedicated")) {
        p_.library = process_icvs::library_kind::turnaround;
        if (p_.spin_us < 0) p_.spin_us = longest_spin_us;
    } else if (!w.is("throughput") && !w.is("multiuser")) {
        complain("KMP_LIBRARY", "serial, turnaround or throughput", "throughput");
    }
}

void reader::others() noexcept {
    flag("OMP_DYNAMIC", p_.initial.dynamic);
    flag("KMP_INHERIT_FP_CONTROL", p_.inherits_modes);
    flag("OMP_CANCELLATION", p_.cancellation);
    p_.careful = p_.cancellation;
    flag("OMP_DISPLAY_AFFINITY", p_.display_affinity);
    number("OMP_THREAD_LIMIT", 1, INT_MAX, p_.initial.thread_limit, "no limit");
    unsigned limit;
    for (const char *variable : {"KMP_DEVICE_THREAD_LIMIT", "KMP_ALL_THREADS"}) // of the process; here they are one
        if (const char *text = look_up(variable); text && !whole(text).is("max") && !whole(text).is("all"))
            if (number(variable, 1, INT_MAX, limit, "no limit"))
                p_.initial.thread_limit = std::min(p_.initial.thread_limit, limit);
    number("OMP_MAX_TASK_PRIORITY", 0, INT_MAX, p_.max_task_priority, "0");
    number("OMP_DEFAULT_DEVICE", 0, INT_MAX, p_.initial.default_device, "0");
    int value = 0;
    if (number("OMP_NUM_TEAMS", 1, INT_MAX, value, "1 team")) p_.num_teams.store(value, std::memory_order_relaxed);
    if (number("OMP_TEAMS_THREAD_LIMIT", 1, INT_MAX, value, "no limit"))
        p_.teams_thread_limit.store(value, std::memory_order_relaxed);

    if (const char *text = look_up("OMP_WAIT_POLICY")) {
        const word w = whole(text);
        if (w.is("active"))
            p_.wait_policy = process_icvs::wait::active;
        else if (w.is("passive"))
            p_.wait_policy = process_icvs::wait::passive;
        else if (!w.is("hybrid"))
            complain("OMP_WAIT_POLICY", "active, passive or hybrid", "what suits (a short spin, then none)");
        if (p_.wait_policy != process_icvs::wait::unset)
            p_.spin_us = p_.wait_policy == process_icvs::wait::active ? longest_spin_us : 0;
    }
    if (const char *text = look_up("OMP_TARGET_OFFLOAD"); text && !read_target_offload(text, p_.target_offload))
        complain("OMP_TARGET_OFFLOAD", "mandatory, disabled or default", "default");
    p_.deterministic_reduction = look_up("KMP_DETERMINISTIC_REDUCTION");
    p_.force_reduction = look_up("KMP_FORCE_REDUCTION");
    spin_count();
    blocktime();
    library();
    if (const char *text = look_up("OMP_AFFINITY_FORMAT")) set_affinity_format(text, std::strlen(text));
}

void reader::read_all(bool nested) noexcept {
    num_threads();
    proc_bind();
    levels(nested);
    schedule();
    stack_size();
    others();
    read_affinity(p_);
}

// Of all variables that could be ours, with their values.
std::uint64_t hash_variables() noexcept {
    std::uint64_t hash = 14695981039346656037u;
    for (char **entry = environ; entry && *entry; ++entry) {
        const char *text = *entry;
        if (std::strncmp(text, "OMP_", 4) && std::strncmp(text, "GOMP_", 5) && std::strncmp(text, "KMP_", 4)) continue;
        do hash = (hash ^ static_cast<unsigned char>(*text)) * 1099511628211u;
        while (*text++);
    }
    return hash;
}

std::uint64_t hash_at_load = 0;
bool is_read = false; // at the start; later only in `refreshing`
sys::once refreshing;

// Is the library's file, but for its version, of this name?
bool is_of(const char *library, const char *name) noexcept {
    const std::size_t length = std::strlen(name);
    return !std::strncmp(library, name, length) && (library[length] == '.' || library[length] == '-');
}
bool needs_llvm_openmp() noexcept {
    return sys::some_object_needs([](const char *l) { return is_of(l, "libomp") || is_of(l, "libiomp5"); });
}
bool needs_gcc_openmp() noexcept {
    return sys::some_object_needs([](const char *l) { return is_of(l, "libgomp"); });
}

void read() noexcept {
    reader(process).read_all(sys::get_options().nested);
    read_allocator();
    spmd::set_stack_size(process.stack_size);
    if (process.spin_us >= 0) core::set_spin_us(static_cast<unsigned>(process.spin_us));
}

void read_again() {
    if (is_read && hash_variables() == hash_at_load) return;
    process.initial = {};
    process.num_teams.store(0, std::memory_order_relaxed);
    process.teams_thread_limit.store(0, std::memory_order_relaxed);
    process.inherits_modes = true;
    process.num_threads_listed = process.bind_listed = 0;
    process.binds = false;
    process.teams_bind = 4;
    set_places({});
    process.cancellation = process.display_affinity = false;
    process.max_task_priority = 0;
    process.stack_size = 0;
    process.wait_policy = process_icvs::wait::unset;
    process.spin_us = -1;
    process.library = process_icvs::library_kind::throughput;
    process.target_offload = process_icvs::offload::usual;
    read();
}

// What OMP_DISPLAY_ENV asks for, in the form of each library that something in the process is linked with. When the
// library is loaded; and, if there was none such yet, at the first use, in gcc's form if there still is none.
void display_environment_as_asked(bool is_in_use) noexcept {
    static bool is_done = false; // first while the library is loaded, then in `refreshing`
    const char *text = look_up("OMP_DISPLAY_ENV");
    if (!text || is_done) return;
    bool show = false;
    const bool verbose = whole(text).is("verbose");
    if (!verbose && !to_flag(whole(text), show)) {
        is_done = true;
        sys::warn("OMP_DISPLAY_ENV=\"%s\": not true, false or verbose; using false", text);
        return;
    }
    if (!verbose && !show) return;
    const bool llvm = needs_llvm_openmp(), gcc = needs_gcc_openmp();
    if (gcc || (is_in_use && !llvm)) display_environment(gcc_abi, verbose);
    if (llvm) display_environment(llvm_abi, verbose);
    is_done = gcc || llvm || is_in_use;
}

void use_first() noexcept {
    read_again();
    display_environment_as_asked(true);
    if (sys::get_options().verbose)
        sys::warn("OpenMP: served, by %s", sys::file_around(reinterpret_cast<const void *>(&use_first)));
}

// Libraries' constructors run before main; the variables that count are those of the program's start. Each process that
// `comity run` starts has this library: one that has nothing to do with OpenMP says nothing of bad values. It may load
// a library that has, and reads them then.
__attribute__((constructor)) void read_at_start() noexcept {
    process.own_regions = sys::get_options().own_regions;
    hash_at_load = hash_variables();
    is_read = needs_gcc_openmp() || needs_llvm_openmp();
    if (!is_read) return;
    read();
    display_environment_as_asked(false);
}

} // namespace

const char *look_up(const char *variable) noexcept { return ::secure_getenv(variable); }

bool read_flag(const char *text, bool &flag) noexcept { return to_flag(whole(text), flag); }

bool read_target_offload(const char *text, process_icvs::offload &offload) noexcept {
    static constexpr const char *names[] = {"disabled", "default", "mandatory"};
    const word w = whole(text);
    const auto *found = std::find_if(std::begin(names), std::end(names), [w](const char *name) { return w.is(name); });
    if (found == std::end(names)) return false;
    offload = static_cast<process_icvs::offload>(found - names);
    return true;
}

void refresh_environment() noexcept { refreshing.run(use_first); }

} // namespace comity::openmp
