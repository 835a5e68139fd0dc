#include "personality/openmp/kmp/microtask.hpp"

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "core/displacement.hpp"
#include "sys/message.hpp"

namespace comity::openmp::kmp {
namespace {

template <std::size_t> using address = void *;

template <std::size_t... I>
void call_with(microtask f, i32 *number, i32 *rank, void **a, std::index_sequence<I...>) noexcept {
    reinterpret_cast<void (*)(i32 *, i32 *, address<I>...)>(f)(number, rank, a[I]...);
}

template <std::size_t N> void call(microtask f, i32 *number, i32 *rank, void **a) noexcept {
    call_with(f, number, rank, a, std::make_index_sequence<N>());
}

using caller = void (*)(microtask, i32 *, i32 *, void **) noexcept;
constexpr unsigned exact = 16;
struct caller_table {
    caller with[exact];
};
template <std::size_t... N> constexpr caller_table make_table(std::index_sequence<N...>) noexcept {
    return {{call<N>...}};
}
constexpr caller_table exactly = make_table(std::make_index_sequence<exact>());

// More arguments than the function takes do no harm: the caller removes them.
template <std::size_t N> void call_padded(microtask_call &c, i32 *number, i32 *rank) noexcept {
    void *padded[N] = {};
    std::memcpy(padded, c.arguments(), c.count * sizeof(void *));
    call<N>(c.function, number, rank, padded);
}

__attribute__((constructor)) void note_callers() noexcept {
    for (const caller c : exactly.with) core::note_caller_of_program(reinterpret_cast<const void *>(c));
    core::note_caller_of_program(reinterpret_cast<const void *>(&run_microtask));
}

} // namespace

microtask_call &make_room_for_call(thread *t, unsigned count) noexcept {
    constexpr unsigned line = 64, usual = 14;
    const unsigned room = count < usual ? usual : count;
    void *memory = nullptr;
    if (::posix_memalign(&memory, line, sizeof(microtask_call) + room * sizeof(void *)))
        sys::fatal("__kmpc_fork_call", "no memory for %u arguments", count);
    std::free(t->call);
    t->call = memory;
    t->call_room = room + 1;
    return *new (memory) microtask_call;
}

void run_microtask(void *data) noexcept {
    auto &c = *static_cast<microtask_call *>(data);
    const thread *t = self;
    i32 number = static_cast<i32>(t->number), rank = static_cast<i32>(t->rank);
    if (c.count < exact) [[likely]]
        exactly.with[c.count](c.function, &number, &rank, c.arguments());
    else if (c.count <= 64)
        call_padded<64>(c, &number, &rank);
    else if (c.count <= 512)
        call_padded<512>(c, &number, &rank);
    else
        sys::fatal("__kmpc_fork_call", "a region with %u variables; 512 are served", c.count);
}

} // namespace comity::openmp::kmp
