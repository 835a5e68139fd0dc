#include "personality/pthread/served_programs.hpp"
#include "personality/pthread/threads/thread.hpp"
#include "sys/errno_kept.hpp"
#include "sys/loaded_objects.hpp"
#include "sys/message.hpp"
#include "sys/options.hpp"

#include <atomic>
#include <cerrno>
#include <climits>
#include <string_view>

#include <unistd.h>

namespace comity::posix {

std::atomic<int> side{sides::undecided};

namespace {

std::atomic<const char *> runtime{nullptr}; // one with stacks of its own

using name_test = bool (*)(const char *name);

bool is_base(const void *object) noexcept {
    return sys::is_called(object, [](const char *n) { return is_base_library(n); });
}

// What the dynamic linker has loaded with the program.
struct loaded {
    static bool some(bool (*is_such)(const void *object, void *test), name_test test) noexcept {
        return sys::visit_objects(is_such, reinterpret_cast<void *>(test));
    }
    static name_test test_of(void *argument) noexcept { return reinterpret_cast<name_test>(argument); }

    bool program_imports(name_test test) const noexcept { return sys::imports(sys::program_object(), test); }
    bool some_needs(name_test test) const noexcept {
        return some([](const void *o, void *t) { return !is_base(o) && sys::needs(o, test_of(t)); }, test);
    }
    bool some_imports(name_test test) const noexcept {
        return some([](const void *o, void *t) { return !is_base(o) && sys::imports(o, test_of(t)); }, test);
    }
};

const char *find_runtime() noexcept {
    for (const runtime_with_own_stacks &r : runtimes_with_own_stacks)
        if (sys::definition_in(sys::program_object(), r.exports)) return r.name;
    return nullptr;
}

// Its name in its folder. Where that cannot be seen, or the dynamic linker was started by hand, as it was called.
std::string_view program_file(char (&path)[PATH_MAX]) noexcept {
    const ssize_t n = ::readlink("/proc/self/exe", path, sizeof path);
    const char *const end = path + (n > 0 ? n : 0), *begin = end;
    while (begin != path && begin[-1] != '/') --begin;
    const std::string_view file(begin, end);
    return file.empty() || file.starts_with("ld-") ? std::string_view(program_invocation_short_name) : file;
}

} // namespace

// `comity run` has decided for the program that it starts; that holds there, but says nothing of programs which that
// starts in turn.
// May be called within the allocator and the dynamic linker, which lock mutexes: it uses neither. Whoever comes at the
// same time finds the same.
bool decide_whether_aside() noexcept {
    if (!::environ) return false; // the C library has not begun
    const sys::errno_kept kept;
    const sys::options o = sys::options_of_environment();
    const char *const found = find_runtime();
    const bool is_automatic = o.run && o.posix == sys::posix_choice::automatic;
    char path[PATH_MAX];
    const bool is_aside = found || (is_automatic && !serves_threads(program_file(path), loaded{}));
    runtime.store(found, std::memory_order_relaxed);
    int expected = sides::undecided;
    const int own = is_aside ? sides::c_librarys : sides::comitys;
    side.compare_exchange_strong(expected, own, std::memory_order_relaxed);
    return side.load(std::memory_order_relaxed) == sides::c_librarys;
}

void say_that_aside() noexcept {
    const sys::options &o = sys::get_options();
    const char *const own_stacks = runtime.load(std::memory_order_relaxed);
    if (!o.verbose && !(own_stacks && o.posix == sys::posix_choice::on)) return;
    static std::atomic<bool> said{false};
    if (said.exchange(true, std::memory_order_relaxed)) return;
    if (own_stacks)
        sys::warn("pthread_create: threads stay the kernel's: %s runtime has stacks of its own, on which a signal of "
                  "Comity's would damage them",
                  own_stacks);
    else
        sys::warn("pthread_create: threads stay the kernel's: the program has no library that computes in parallel, or "
                  "places its threads itself (`comity run --posix`: they run on the harts)");
}

} // namespace comity::posix
