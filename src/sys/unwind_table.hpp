// What the unwind tables of loaded objects (.eh_frame, as DWARF 5, 6.4 has it) say of the code at an address: where its
// caller's registers are. Any thread, also in a signal handler that has interrupted any code: takes no lock (but see
// loaded_object_around), allocates nothing, and reads nothing but the tables.
#pragma once

#include <cstddef>
#include <cstdint>

namespace comity::sys {

// By DWARF's numbers.
#if defined(__x86_64__)
inline constexpr unsigned stack_register = 7, registers_in_all = 17; // the last one is where the caller goes on
#elif defined(__aarch64__)
inline constexpr unsigned stack_register = 31, registers_in_all = 32;
#endif

// How to find a register of the caller's, or its frame's end (CFA).
struct register_rule {
    enum class found : std::uint8_t {
        as_it_is,      // it was not changed
        nowhere,       // the caller's return address: there is no caller
        at_offset,     // in memory, from the frame's end
        by_offset,     // the frame's end and this
        in_register,   // and, for the frame's end, an offset
        at_expression, // in memory
        by_expression
    };
    found how;
    std::uint16_t from; // register
    union {
        std::int64_t offset;
        const std::uint8_t *expression; // its length, then its operations
    };
};

struct frame_rules {
    std::uintptr_t function = 0; // where the code that has these rules begins
    unsigned return_register = 0;
    bool is_signal = false; // what a handler returns to: the frame above was interrupted, and has called nobody
    // The function moves the stack pointer to another frame before it leaves (__builtin_eh_return: an unwinder's). Its
    // rules do not hold at each of its instructions.
    bool leaves_sideways = false;
    struct row {
        register_rule end;
        register_rule of[registers_in_all];
    } row;
};

// False: the tables do not know the code, or are of a kind that this does not read.
bool find_frame_rules(std::uintptr_t code, frame_rules &rules) noexcept;

// Reads numbers of a table one after the other.
struct table_reader {
    const std::uint8_t *at, *end;
    bool is_whole = true; // nothing was read beyond the end

    template <class T> T number() noexcept {
        T value{};
        if (static_cast<std::size_t>(end - at) < sizeof value) return fail(), value;
        __builtin_memcpy(&value, at, sizeof value);
        at += sizeof value;
        return value;
    }
    std::uint64_t uleb() noexcept;
    std::int64_t sleb() noexcept;
    void skip(std::uint64_t bytes) noexcept {
        if (bytes > static_cast<std::uint64_t>(end - at)) return fail();
        at += bytes;
    }
    void fail() noexcept {
        is_whole = false;
        at = end;
    }
};

} // namespace comity::sys
