// gcc's arrays of dependences, in the form that the core takes.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "personality/openmp/task.hpp"
#include "sys/message.hpp"

namespace comity::openmp {

// The array is {n, writers, locations...: first the writers}, or
//   {0, n, writers, mutexinoutsets, readers, locations... in this order, then pointers to depend objects}.
// An object is {location, kind}. A null location stands for omp_all_memory.
class gomp_dependences {
public:
    explicit gomp_dependences(void **depend) noexcept {
        auto number = [depend](unsigned i) { return reinterpret_cast<std::uintptr_t>(depend[i]); };
        if (const std::uintptr_t count = number(0)) {
            reserve(count);
            for (std::uintptr_t i = 0; i < count; ++i) add(depend[2 + i], i < number(1) ? writes : reads);
            return;
        }
        const std::uintptr_t count = number(1), writers = number(2), mutexes = writers + number(3),
                             plain = mutexes + number(4);
        reserve(count);
        for (std::uintptr_t i = 0; i < count; ++i)
            if (i < plain)
                add(depend[5 + i], i < writers ? writes : i < mutexes ? dependence_kind::mutexinoutset : reads);
            else
                add_object(static_cast<void **>(depend[5 + i]));
    }
    ~gomp_dependences() {
        if (entries_ != few_) std::free(entries_);
    }
    gomp_dependences(const gomp_dependences &) = delete;
    gomp_dependences &operator=(const gomp_dependences &) = delete;

    operator dependence_list() const noexcept { return {entries_, count_}; }

private:
    static constexpr auto reads = dependence_kind::in, writes = dependence_kind::inout;

    void reserve(std::uintptr_t count) noexcept {
        if (count <= sizeof few_ / sizeof *few_) return;
        entries_ = static_cast<dependence_request *>(std::malloc(count * sizeof *entries_));
        if (!entries_) sys::fatal("GOMP_task", "no memory for %zu dependences", static_cast<std::size_t>(count));
    }
    void add(void *location, dependence_kind kind) noexcept { entries_[count_++] = {location, kind}; }
    void add_object(void **object) noexcept {
        // The compilers' numbers: in, out, inout, mutexinoutset, inoutset from 1.
        switch (reinterpret_cast<std::uintptr_t>(object[1])) {
        case 1:
            return add(object[0], reads);
        case 4:
            return add(object[0], dependence_kind::mutexinoutset);
        case 5:
            return add(object[0], dependence_kind::inoutset);
        default:
            return add(object[0], writes);
        }
    }

    dependence_request few_[8], *entries_ = few_;
    std::size_t count_ = 0;
};

} // namespace comity::openmp
