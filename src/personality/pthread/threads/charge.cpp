// malloc and its like: they charge the calling thread, and leave the rest to whose they are. README.md, "Memory".
#include "personality/pthread/threads/charge.hpp"

#include "comity/scheduler.h"
#include "core/displacement.hpp"
#include "personality/pthread/threads/thread.hpp"
#include "sys/c_library.hpp"
#include "sys/cpp_library.hpp"
#include "sys/loaded_objects.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

#include <malloc.h>
#include <unistd.h>

namespace comity::posix {

__thread std::int64_t prepaid __attribute__((tls_model("initial-exec"))) = unlimited;
__thread std::int64_t owed __attribute__((tls_model("initial-exec"))) = 0;

namespace {

// So many bytes a thread pays at once, ahead. What it has paid it may allocate also after its next turn, so this adds
// an eighth to the quota at most.
std::int64_t portion = unlimited; // written before the first thread; unlimited: nobody is charged
constexpr std::int64_t portions_in_quota = 8;

// What a block takes, as the C library has it, whose own part is one word of it: what malloc charges, free gives back.
constexpr std::size_t own_part = 8, smallest = 24, grain = 16;
inline std::size_t taken_by(std::size_t asked) noexcept {
    return ((asked < smallest ? smallest : asked) + own_part + grain - 1) / grain * grain;
}

// Code of libraries that allocate while they hold locks for which others would wait in the kernel, or the hart. Written
// at load, and that of the C++ library before the first thread.
constexpr unsigned most_without_stop = 5;
sys::address_range without_stop[most_without_stop];

bool may_stop_at(const void *caller) noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(caller);
    for (const sys::address_range &code : without_stop)
        if (code.contains(at)) return false;
    return true;
}

// On its own stack? Not, for instance, in a handler of the kernel's on the signal stack, which others may need.
bool on_own_stack(const thread *t) noexcept {
    const auto *here = static_cast<const std::byte *>(__builtin_frame_address(0));
    const auto *bottom = static_cast<const std::byte *>(t->stack_bottom.load(std::memory_order_relaxed));
    return here >= bottom && here < bottom + t->stack_size;
}

// So that the thread can allocate so many bytes at once; `caller` is about to, or null. May switch. False: here it may
// not.
bool make_room(std::int64_t bytes, const void *caller) noexcept {
    const thread *t = current_thread;
    if (!t || !t->in_program || t->signals.handlers.load(std::memory_order_relaxed) || !may_stop_at(caller) ||
        !on_own_stack(t))
        return false;
    const int kept = errno;
    const std::int64_t due = bytes + owed + portion - prepaid;
    prepaid = bytes + portion; // before the wait: whatever allocates there has been paid for
    owed = 0;
    comity_scheduler_charge(static_cast<std::size_t>(due));
    errno = kept;
    return true;
}

[[gnu::noinline, gnu::cold]] void charge_now(std::size_t bytes, const void *caller) noexcept {
    if (bytes > PTRDIFF_MAX) return; // nobody gets that
    const auto n = static_cast<std::int64_t>(bytes);
    if (!make_room(n, caller)) {
        owed += n - prepaid;
        prepaid = 0;
    } else {
        prepaid -= n;
    }
}

inline void charge(std::size_t bytes, const void *caller) noexcept {
    const std::size_t all = taken_by(bytes);
    if (all > static_cast<std::size_t>(prepaid)) [[unlikely]]
        charge_now(all, caller);
    else
        prepaid -= static_cast<std::int64_t>(all);
}

bool new_calls_malloc = true; // in the C++ library; other allocators' does not. Written before the first thread

// For operator new. Its malloc is called by the C++ library: that one charges it, but does not stop there.
inline void charge_new(std::size_t bytes, const void *caller) noexcept {
    const std::size_t all = taken_by(bytes);
    if (!new_calls_malloc) return charge(bytes, caller);
    if (all > static_cast<std::size_t>(prepaid) && all <= PTRDIFF_MAX) [[unlikely]]
        (void)make_room(static_cast<std::int64_t>(all), caller);
}

inline bool is_charged() noexcept { return prepaid < unlimited / 2; }

// The functions behind ours. To look one up may allocate: with old C libraries room for an error, which they do without
// if there is none.
__thread bool looks_up __attribute__((tls_model("initial-exec"))) = false;

template <bool quiet, class Result, class... Arguments> using function = Result (*)(Arguments...) noexcept(quiet);
template <bool quiet, class Result, class... Arguments>
[[gnu::noinline, gnu::cold]] auto look_up(next<function<quiet, Result, Arguments...>> &f) noexcept
    -> function<quiet, Result, Arguments...> {
    if (looks_up) return [](Arguments...) noexcept -> Result { return Result(); };
    looks_up = true;
    const function<quiet, Result, Arguments...> found = f.get();
    looks_up = false;
    return found;
}
template <class Function> inline Function behind(next<Function> &f) noexcept {
    Function found = f.known();
    return found ? found : look_up(f);
}

COMITY_NEXT_SYMBOL next<void *(*)(std::size_t) noexcept> next_malloc{"malloc"};
COMITY_NEXT_SYMBOL next<void *(*)(std::size_t, std::size_t) noexcept> next_calloc{"calloc"};
COMITY_NEXT_SYMBOL next<void *(*)(void *, std::size_t) noexcept> next_realloc{"realloc"};
COMITY_NEXT_SYMBOL next<void (*)(void *) noexcept> next_free{"free"};
COMITY_NEXT_SYMBOL next<int (*)(void **, std::size_t, std::size_t) noexcept> next_posix_memalign{"posix_memalign"};
COMITY_NEXT_SYMBOL next<void *(*)(std::size_t, std::size_t) noexcept> next_aligned_alloc{"aligned_alloc"};
COMITY_NEXT_SYMBOL next<void *(*)(std::size_t, std::size_t) noexcept> next_memalign{"memalign"};
COMITY_NEXT_SYMBOL next<void *(*)(std::size_t) noexcept> next_valloc{"valloc"};
COMITY_NEXT_SYMBOL next<void *(*)(std::size_t)> next_new{"_Znwm"};
COMITY_NEXT_SYMBOL next<std::size_t (*)(void *) noexcept> next_usable_size{"malloc_usable_size"};

bool in_one_library(const void *a, const void *b) noexcept { return sys::library_around(a) == sys::library_around(b); }
bool says_sizes = false; // is the last one of the same allocator? Written at load

// What the block takes; 0: the allocator does not say.
std::size_t size_of(void *block) noexcept {
    return block && says_sizes ? behind(next_usable_size)(block) + own_part : 0;
}

// More than is to be held ahead goes back to the scheduler.
[[gnu::noinline, gnu::cold]] void give_back() noexcept {
    const std::int64_t paid = owed < prepaid ? owed : prepaid;
    owed -= paid;
    prepaid -= paid;
    if (prepaid <= portion) return;
    comity_scheduler_credit(static_cast<std::size_t>(prepaid - portion));
    prepaid = portion;
}

inline void credit(void *block) noexcept {
    prepaid += static_cast<std::int64_t>(size_of(block));
    if (prepaid > 2 * portion) [[unlikely]]
        give_back();
}

// The old block is there until the new one is.
void *resize(void *block, std::size_t size, const void *caller) noexcept {
    if (!is_charged()) [[likely]]
        return behind(next_realloc)(block, size);
    charge(size, caller);
    const std::size_t before = size_of(block);
    void *result = behind(next_realloc)(block, size);
    if (result || size == 0) prepaid += static_cast<std::int64_t>(before);
    return result;
}

// Later a thread may hold the dynamic linker's lock, and wait for the one that asks it.
__attribute__((constructor)) void look_around() noexcept {
    const void *const inside[most_without_stop - 1] = {
        sys::find_in_c_library("fopen"),
        sys::find_symbol("__tls_get_addr"), // the dynamic linker's
        reinterpret_cast<const void *>(&core::protect_code_at),
        reinterpret_cast<const void *>(&may_stop_at),
    };
    for (unsigned i = 0; i < most_without_stop - 1; ++i) without_stop[i] = sys::object_around(inside[i]);
    says_sizes = in_one_library(reinterpret_cast<const void *>(behind(next_free)),
                                reinterpret_cast<const void *>(behind(next_usable_size)));
}

} // namespace

void charge_from_now_on(std::size_t quota) noexcept {
    const sys::address_range &cpp = without_stop[most_without_stop - 1] =
        sys::object_around(reinterpret_cast<const void *>(sys::get_cpp_library().personality));
    const auto its_new = reinterpret_cast<std::uintptr_t>(next_new.known());
    new_calls_malloc = its_new == 0 || cpp.contains(its_new);
    if (quota != 0)
        portion = static_cast<std::int64_t>(std::min<std::size_t>(quota, unlimited / 2)) / portions_in_quota;
}

void begin_charging() noexcept { prepaid = portion == unlimited ? unlimited : 0; }

void end_charging() noexcept {
    prepaid = unlimited;
    owed = 0;
}

void pay() noexcept {
    if (owed != 0) (void)make_room(0, nullptr);
}

} // namespace comity::posix

using namespace comity::posix;

#define COMITY_CALLER __builtin_return_address(0)

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's names are reserved ones

COMITY_INTERPOSED void *malloc(std::size_t size) noexcept {
    charge(size, COMITY_CALLER);
    return behind(next_malloc)(size);
}
COMITY_INTERPOSED void *calloc(std::size_t n, std::size_t size) noexcept {
    std::size_t all = 0;
    if (!__builtin_mul_overflow(n, size, &all)) charge(all, COMITY_CALLER);
    return behind(next_calloc)(n, size);
}
COMITY_INTERPOSED void *realloc(void *block, std::size_t size) noexcept { return resize(block, size, COMITY_CALLER); }
COMITY_INTERPOSED void *reallocarray(void *block, std::size_t n, std::size_t size) noexcept {
    std::size_t all = 0;
    if (!__builtin_mul_overflow(n, size, &all)) return resize(block, all, COMITY_CALLER);
    errno = ENOMEM;
    return nullptr;
}
COMITY_INTERPOSED void free(void *block) noexcept {
    if (is_charged()) [[unlikely]]
        credit(block);
    behind(next_free)(block);
}
COMITY_INTERPOSED int posix_memalign(void **out, std::size_t alignment, std::size_t size) noexcept {
    charge(size, COMITY_CALLER);
    return behind(next_posix_memalign)(out, alignment, size);
}
COMITY_INTERPOSED void *aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
    charge(size, COMITY_CALLER);
    return behind(next_aligned_alloc)(alignment, size);
}
COMITY_INTERPOSED void *memalign(std::size_t alignment, std::size_t size) noexcept {
    charge(size, COMITY_CALLER);
    return behind(next_memalign)(alignment, size);
}
COMITY_INTERPOSED void *valloc(std::size_t size) noexcept {
    charge(size, COMITY_CALLER);
    return behind(next_valloc)(size);
}
// Other allocators have none; the C library's would not be theirs to free. For no bytes a page: some give nothing.
COMITY_INTERPOSED void *pvalloc(std::size_t size) noexcept {
    const auto page = static_cast<std::size_t>(::getpagesize());
    const std::size_t whole = size == 0 ? page : (size + page - 1) / page * page;
    if (whole < size) {
        errno = ENOMEM;
        return nullptr;
    }
    charge(whole, COMITY_CALLER);
    return behind(next_memalign)(page, whole);
}

namespace {

// operator new where no library had it when this one was loaded; one that comes later does the same.
void *by_malloc(std::size_t size) noexcept { return malloc(size ? size : 1); }
void *by_malloc(std::size_t size, std::align_val_t to) noexcept {
    void *memory = nullptr;
    return posix_memalign(&memory, static_cast<std::size_t>(to), size ? size : 1) == 0 ? memory : nullptr;
}
void *by_malloc(std::size_t size, const std::nothrow_t &) noexcept { return by_malloc(size); }
void *by_malloc(std::size_t size, std::align_val_t to, const std::nothrow_t &) noexcept { return by_malloc(size, to); }

} // namespace

// C++'s own call these from within the C++ library, whose function says what happens if there is no memory.
#define COMITY_NEW(name, symbol, parameters, arguments)                                                                \
    extern "C" __attribute__((visibility("default"))) void *name parameters asm(symbol);                               \
    void *name parameters {                                                                                            \
        COMITY_NEXT_SYMBOL static next<void *(*)parameters> next_new{symbol};                                          \
        charge_new(size, COMITY_CALLER);                                                                               \
        if (void *(*behind)parameters = next_new.known()) return behind arguments;                                     \
        if (void *memory = by_malloc arguments) return memory;                                                         \
        auto *cpp = reinterpret_cast<void *(*)parameters>(comity::sys::find_in_cpp_library(symbol));                   \
        return cpp ? cpp arguments : nullptr;                                                                          \
    }
COMITY_NEW(comity_new, "_Znwm", (std::size_t size), (size))
COMITY_NEW(comity_new_array, "_Znam", (std::size_t size), (size))
COMITY_NEW(comity_new_nothrow, "_ZnwmRKSt9nothrow_t", (std::size_t size, const std::nothrow_t &n), (size, n))
COMITY_NEW(comity_new_array_nothrow, "_ZnamRKSt9nothrow_t", (std::size_t size, const std::nothrow_t &n), (size, n))
COMITY_NEW(comity_new_aligned, "_ZnwmSt11align_val_t", (std::size_t size, std::align_val_t to), (size, to))
COMITY_NEW(comity_new_array_aligned, "_ZnamSt11align_val_t", (std::size_t size, std::align_val_t to), (size, to))
COMITY_NEW(comity_new_aligned_nothrow, "_ZnwmSt11align_val_tRKSt9nothrow_t",
           (std::size_t size, std::align_val_t to, const std::nothrow_t &n), (size, to, n))
COMITY_NEW(comity_new_array_aligned_nothrow, "_ZnamSt11align_val_tRKSt9nothrow_t",
           (std::size_t size, std::align_val_t to, const std::nothrow_t &n), (size, to, n))

// NOLINTEND(readability-inconsistent-declaration-parameter-name)
