// Task reductions: the compilers describe the variables in an array and let the runtime find each rank's private
// copies.
//   [0] how many variables    [1] bytes of a rank's copies    [2] alignment; then: where the copies are
//   [4] the next array, of the same construct or of an outer taskgroup    [5] ours: is it the first of a construct?
//   [6] ours: the copies' end    [7 + 3 i] the variable's address, its offset in a rank's copies, and a word of ours
#include <cstdlib>
#include <cstring>

#include "personality/openmp/thread.hpp"
#include "sys/message.hpp"

namespace comity::openmp {
namespace {

using word = std::uintptr_t;

word *next_of(const word *data) noexcept { return reinterpret_cast<word *>(data[4]); }

void allocate_copies(word *data, unsigned ranks) noexcept {
    const std::size_t alignment = data[2] < sizeof(void *) ? sizeof(void *) : data[2], size = data[1] * ranks;
    void *memory = nullptr;
    if (::posix_memalign(&memory, alignment, size ? size : 1))
        sys::fatal("OpenMP", "no memory for %zu bytes of task reductions", size);
    std::memset(memory, 0, size);
    data[2] = reinterpret_cast<word>(memory);
    data[6] = data[2] + size;
}

struct found {
    const word *data = nullptr, *variable = nullptr;
    word offset = 0;
};

// What `address` stands for: a reduction variable, or some rank's copy of one or of a part of it.
found find(const word *data, word address) noexcept {
    for (; data; data = next_of(data)) {
        if (address >= data[2] && address < data[6]) {
            found f{data, nullptr, (address - data[2]) % data[1]};
            for (word i = 0; i < data[0]; ++i)
                if (data[7 + 3 * i + 1] == f.offset) f.variable = data + 7 + 3 * i;
            return f;
        }
        for (word i = 0; i < data[0]; ++i)
            if (const word *variable = data + 7 + 3 * i; variable[0] == address) return {data, variable, variable[1]};
    }
    return {};
}

} // namespace

void chain_reductions(word *data, const word *outer, word *first, unsigned ranks) noexcept {
    for (word *d = data;; d = next_of(d)) {
        d[5] = d == data;
        if (first) { // another rank has the copies
            d[2] = first[2];
            d[6] = first[6];
            first = next_of(first);
        } else {
            allocate_copies(d, ranks);
        }
        if (!d[4]) {
            d[4] = reinterpret_cast<word>(outer);
            return;
        }
    }
}

void register_reductions(thread *t, word *data) noexcept {
    taskgroup *group = t->task->group;
    chain_reductions(data, group->reductions, nullptr, t->team->size);
    group->reductions = data;
}

void unregister_reductions(word *data) noexcept {
    do {
        std::free(reinterpret_cast<void *>(data[2]));
        data = next_of(data);
    } while (data && !data[5]);
}

void remap_reductions(thread *t, std::size_t count, std::size_t originals, void **pointers) noexcept {
    const word *registered = t->task->group ? t->task->group->reductions : nullptr;
    for (std::size_t i = 0; i < count; ++i) {
        const found f = find(registered, reinterpret_cast<word>(pointers[i]));
        if (!f.data || (i < originals && !f.variable))
            sys::fatal("GOMP_task_reduction_remap", "%p is no task reduction variable of a taskgroup around it",
                       pointers[i]);
        pointers[i] = reinterpret_cast<void *>(f.data[2] + t->rank * f.data[1] + f.offset);
        if (i < originals) pointers[count + i] = reinterpret_cast<void *>(f.variable[0]);
    }
}

} // namespace comity::openmp
