// Doacross loops. Their iterations are numbered by the compiler: the outermost loop's from 0 to counts[0].
#include <cstdarg>

#include "personality/openmp/gomp/abi.hpp"
#include "personality/openmp/gomp/share_extras.hpp"
#include "personality/openmp/ompt/hooks.hpp"
#include "personality/openmp/region.hpp"
#include "sys/message.hpp"

using namespace comity::openmp;
using ull = unsigned long long;

namespace {

template <class T>
bool start(unsigned dimensions, const T *counts, schedule_kind kind, std::uint64_t chunk, T *from, T *to,
           std::uintptr_t *reductions, void **memory, bool extras, ompt::call_site at) noexcept {
    thread *t = current();
    if (ompt::on()) ompt::work(ompt::work_kind::loop, ompt::endpoint::begin, static_cast<std::uint64_t>(counts[0]), at);
    if (extras) begin_extras(t, reductions);
    const bool first = enter_share(t);
    if (first) start_doacross(t, dimensions, reinterpret_cast<const std::uint64_t *>(counts), kind, chunk);
    if (extras) join_extras(t, first, reductions, memory);
    if (first) publish_share(t);
    if (!from) return true;
    std::uint64_t begin, end;
    if (!next_chunk(t, begin, end)) return false;
    *from = static_cast<T>(begin);
    *to = static_cast<T>(end);
    return true;
}

template <class T>
bool start(unsigned dimensions, const T *counts, schedule_kind kind, T chunk, T *from, T *to,
           ompt::call_site at) noexcept {
    return start(dimensions, counts, kind, static_cast<std::uint64_t>(chunk), from, to, nullptr, nullptr, false, at);
}

// The indices after the first one are variadic.
template <class T> void await(T first, std::va_list rest) noexcept {
    thread *t = current();
    if (!t->share) return;
    const unsigned dimensions = t->share->doacross.dimensions;
    auto *indices = static_cast<std::uint64_t *>(__builtin_alloca(dimensions * sizeof(std::uint64_t)));
    indices[0] = static_cast<std::uint64_t>(first);
    for (unsigned i = 1; i < dimensions; ++i) indices[i] = static_cast<std::uint64_t>(va_arg(rest, T));
    await_iteration(t, indices);
}

} // namespace

#define DOACROSS(NAME, KIND)                                                                                           \
    COMITY_GOMP bool GOMP_loop_doacross_##NAME##_start(unsigned dimensions, long *counts, long chunk, long *from,      \
                                                       long *to) noexcept {                                            \
        return start(dimensions, counts, schedule_kind::KIND, chunk, from, to, COMITY_OMPT_HERE);                      \
    }                                                                                                                  \
    COMITY_GOMP bool GOMP_loop_ull_doacross_##NAME##_start(unsigned dimensions, ull *counts, ull chunk, ull *from,     \
                                                           ull *to) noexcept {                                         \
        return start(dimensions, counts, schedule_kind::KIND, chunk, from, to, COMITY_OMPT_HERE);                      \
    }
DOACROSS(static, fixed)
DOACROSS(dynamic, dynamic)
DOACROSS(guided, guided)

COMITY_GOMP bool GOMP_loop_doacross_runtime_start(unsigned dimensions, long *counts, long *from, long *to) noexcept {
    return start(dimensions, counts, schedule_kind::runtime, 0L, from, to, COMITY_OMPT_HERE);
}

COMITY_GOMP bool GOMP_loop_ull_doacross_runtime_start(unsigned dimensions, ull *counts, ull *from, ull *to) noexcept {
    return start(dimensions, counts, schedule_kind::runtime, 0ull, from, to, COMITY_OMPT_HERE);
}

COMITY_GOMP bool GOMP_loop_doacross_start(unsigned dimensions, long *counts, long schedule, long chunk, long *from,
                                          long *to, std::uintptr_t *reductions, void **memory) noexcept {
    return start(dimensions, counts, static_cast<schedule_kind>(schedule & 0xf), static_cast<std::uint64_t>(chunk),
                 from, to, reductions, memory, true, COMITY_OMPT_HERE);
}

COMITY_GOMP bool GOMP_loop_ull_doacross_start(unsigned dimensions, ull *counts, long schedule, ull chunk, ull *from,
                                              ull *to, std::uintptr_t *reductions, void **memory) noexcept {
    return start(dimensions, counts, static_cast<schedule_kind>(schedule & 0xf), static_cast<std::uint64_t>(chunk),
                 from, to, reductions, memory, true, COMITY_OMPT_HERE);
}

COMITY_GOMP void GOMP_doacross_post(long *indices) noexcept {
    post_iteration(current(), reinterpret_cast<const std::uint64_t *>(indices));
}

COMITY_GOMP void GOMP_doacross_ull_post(ull *indices) noexcept {
    post_iteration(current(), reinterpret_cast<const std::uint64_t *>(indices));
}

COMITY_GOMP void GOMP_doacross_wait(long first, ...) noexcept {
    std::va_list rest;
    va_start(rest, first);
    await(first, rest);
    va_end(rest);
}

COMITY_GOMP void GOMP_doacross_ull_wait(ull first, ...) noexcept {
    std::va_list rest;
    va_start(rest, first);
    await(first, rest);
    va_end(rest);
}
