// What late_cpp.c loads.
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>

#include <sched.h>

namespace {

struct alignas(128) wide {
    int value = 0;
};

// Lets others throw while it handles one, and one within that.
int handle(int value) {
    int wrong = 0;
    try {
        throw std::runtime_error(std::to_string(value));
    } catch (const std::exception &outer) {
        for (int i = 0; i < 3; ++i) sched_yield();
        try {
            throw value;
        } catch (int inner) {
            sched_yield();
            wrong += inner != value;
        }
        wrong += outer.what() != std::to_string(value) || !std::current_exception();
    }
    return wrong + (std::current_exception() != nullptr);
}

} // namespace

extern "C" __attribute__((visibility("default"))) int throws_and_catches(int value) {
    const auto aligned = std::make_unique<wide>();
    int wrong = handle(value) + (reinterpret_cast<std::uintptr_t>(aligned.get()) % alignof(wide) != 0);
    volatile std::size_t too_much = SIZE_MAX / 2;
    try {
        ::operator delete(::operator new(too_much)); // the functions: a compiler may leave a new expression out
        ++wrong;
    } catch (const std::bad_alloc &) {
    }
    return wrong + (::operator new(too_much, std::nothrow) != nullptr);
}
