#include "sys/call_frames.hpp"

#include "sys/memory.hpp"
#include "sys/unwind_table.hpp"

#include <ucontext.h>

namespace comity::sys {
namespace {

// Memory that may not be there: a page is asked for before it is read.
class careful_memory {
public:
    bool read(std::uintptr_t address, std::uint64_t &value) noexcept {
        if (!is_there(address) || !is_there(address + sizeof value - 1)) return false;
        __builtin_memcpy(&value, reinterpret_cast<const void *>(address), sizeof value);
        return true;
    }

private:
    bool is_there(std::uintptr_t address) noexcept {
        constexpr std::uintptr_t page = 4096;
        const std::uintptr_t of = address / page;
        if (of == last_) return true;
        if (!is_readable(reinterpret_cast<const void *>(address))) return false;
        last_ = of;
        return true;
    }
    std::uintptr_t last_ = UINTPTR_MAX; // of no page
};

struct registers {
    std::uint64_t of[registers_in_all];
    std::uint64_t code;
    std::uint64_t &stack() noexcept { return of[stack_register]; }
    std::uint64_t stack() const noexcept { return of[stack_register]; }
};

registers registers_at(const interruption &i) noexcept {
    const auto &m = static_cast<ucontext_t *>(i.frame)->uc_mcontext;
    registers r{};
#if defined(__x86_64__)
    constexpr int order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
                             REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    unsigned n = 0;
    for (const int which : order) r.of[n++] = static_cast<std::uint64_t>(m.gregs[which]);
    r.of[n] = i.pc;
#elif defined(__aarch64__)
    for (unsigned n = 0; n < stack_register; ++n) r.of[n] = m.regs[n];
#endif
    r.stack() = i.sp;
    r.code = i.pc;
    return r;
}

// DW_OP_*, as far as tables have them.
class expression {
public:
    expression(const registers &r, careful_memory &memory) noexcept : r_(r), memory_(memory) {}

    bool evaluate(const std::uint8_t *at, std::uint64_t begins_with, std::uint64_t &value) noexcept {
        constexpr std::size_t longest_length = 10;
        table_reader length{at, at + longest_length};
        const std::uint64_t size = length.uleb();
        table_reader r{length.at, length.at + size};
        push(begins_with);
        while (r.is_whole && is_good_ && r.at != r.end) step(r, r.number<std::uint8_t>());
        value = pop();
        return r.is_whole && is_good_;
    }

private:
    void push(std::uint64_t value) noexcept {
        is_good_ = is_good_ && n_ < room;
        if (is_good_) values_[n_++] = value;
    }
    std::uint64_t pop() noexcept {
        is_good_ = is_good_ && n_ != 0;
        return is_good_ ? values_[--n_] : 0;
    }
    void step(table_reader &r, std::uint8_t operation) noexcept {
        constexpr std::uint8_t literals = 0x30, based = 0x70, after_based = 0x90;
        if (operation >= literals && operation < literals + 32) return push(operation - literals);
        if (operation >= based && operation < after_based) {
            const unsigned which = operation - based;
            const auto offset = static_cast<std::uint64_t>(r.sleb());
            is_good_ = is_good_ && which < registers_in_all;
            return push(is_good_ ? r_.of[which] + offset : 0);
        }
        if (!step_of_constant(r, operation)) step_of_two(operation);
    }
    bool step_of_constant(table_reader &r, std::uint8_t operation) noexcept {
        switch (operation) {
        case 0x06: {
            std::uint64_t there = 0;
            is_good_ = memory_.read(pop(), there) && is_good_;
            return push(there), true;
        }
        case 0x08:
            return push(r.number<std::uint8_t>()), true;
        case 0x09:
            return push(static_cast<std::uint64_t>(std::int64_t{r.number<std::int8_t>()})), true;
        case 0x0a:
            return push(r.number<std::uint16_t>()), true;
        case 0x0b:
            return push(static_cast<std::uint64_t>(std::int64_t{r.number<std::int16_t>()})), true;
        case 0x10:
            return push(r.uleb()), true;
        case 0x11:
            return push(static_cast<std::uint64_t>(r.sleb())), true;
        case 0x23:
            return push(pop() + r.uleb()), true;
        default:
            return false;
        }
    }
    void step_of_two(std::uint8_t operation) noexcept {
        constexpr std::uint64_t bits = 63;
        const std::uint64_t b = pop(), a = pop();
        switch (operation) {
        case 0x1a:
            return push(a & b);
        case 0x1c:
            return push(a - b);
        case 0x22:
            return push(a + b);
        case 0x24:
            return push(a << (b & bits));
        case 0x2a:
            return push(static_cast<std::int64_t>(a) >= static_cast<std::int64_t>(b));
        default:
            is_good_ = false;
        }
    }

    static constexpr unsigned room = 16;
    const registers &r_;
    careful_memory &memory_;
    std::uint64_t values_[room];
    unsigned n_ = 0;
    bool is_good_ = true;
};

using found = register_rule::found;

bool find_end(const frame_rules &f, const registers &r, careful_memory &memory, std::uint64_t &end) noexcept {
    if (f.row.end.how == found::by_expression) return expression(r, memory).evaluate(f.row.end.expression, 0, end);
    if (f.row.end.how != found::in_register || f.row.end.from >= registers_in_all) return false;
    end = r.of[f.row.end.from] + static_cast<std::uint64_t>(f.row.end.offset);
    return true;
}

bool find_register(const register_rule &rule, const registers &r, std::uint64_t end, careful_memory &memory,
                   std::uint64_t &value) noexcept {
    switch (rule.how) {
    case found::as_it_is:
        return true;
    case found::nowhere:
        return value = 0, true;
    case found::at_offset:
        return memory.read(end + static_cast<std::uint64_t>(rule.offset), value);
    case found::by_offset:
        return value = end + static_cast<std::uint64_t>(rule.offset), true;
    case found::in_register:
        return rule.from < registers_in_all && (value = r.of[rule.from], true);
    case found::at_expression:
        return expression(r, memory).evaluate(rule.expression, end, value) && memory.read(value, value);
    case found::by_expression:
        return expression(r, memory).evaluate(rule.expression, end, value);
    }
    return false;
}

// The caller's registers. False: they cannot be had.
bool find_caller(const frame_rules &f, const registers &r, careful_memory &memory, registers &caller) noexcept {
    std::uint64_t end = 0;
    if (!find_end(f, r, memory, end)) return false;
    caller = r;
    caller.stack() = end;
    for (unsigned n = 0; n < registers_in_all; ++n)
        if (f.row.of[n].how != found::as_it_is && !find_register(f.row.of[n], r, end, memory, caller.of[n]))
            return false;
    caller.code = caller.of[f.return_register];
#if defined(__aarch64__)
    constexpr std::uint64_t address = (std::uint64_t{1} << 48) - 1; // without a signature
    caller.code &= address;
#endif
    return true;
}

} // namespace

frames_end visit_call_frames(const interruption &i, bool (*visit)(const call_frame &, void *), void *argument,
                             frame_place &rest) noexcept {
    constexpr unsigned most = 1'000'000;
    careful_memory memory;
    registers r = registers_at(i), caller;
    frame_rules rules;
    bool has_called = false; // else it was interrupted there
    for (unsigned n = 0; n < most; ++n) {
        const std::uintptr_t code = r.code - has_called;
        rest = {code, r.stack()};
        if (!find_frame_rules(code, rules)) return frames_end::not_known;
        if (rules.leaves_sideways) return frames_end::unwinds;
        if (!find_caller(rules, r, memory, caller)) return frames_end::not_known;
        const bool is_leaf = !has_called && caller.stack() == r.stack();
        if (!rules.is_signal && caller.stack() <= r.stack() && !is_leaf) return frames_end::not_known;
        if (!visit({code, rules.function, r.stack(), caller.stack()}, argument)) return frames_end::stopped;
        if (caller.code == 0) return frames_end::outermost;
        has_called = !rules.is_signal;
        r = caller;
    }
    return frames_end::not_known;
}

namespace {

// Does a call stand before this address, in memory that can be read?
bool follows_call(std::uintptr_t address, careful_memory &memory) noexcept {
    std::uint64_t before = 0;
    if (!memory.read(address - sizeof before, before)) return false;
    unsigned char b[sizeof before];
    __builtin_memcpy(b, &before, sizeof b);
#if defined(__x86_64__)
    const auto is_indirect = [&b](unsigned at) { return b[at] == 0xff && (b[at + 1] & 0x38) == 0x10; };
    return b[3] == 0xe8 || is_indirect(6) || is_indirect(5) || is_indirect(4) || is_indirect(2) || is_indirect(1);
#elif defined(__aarch64__)
    const auto last = static_cast<std::uint32_t>(before >> 32);
    return (last & 0xfc000000) == 0x94000000 || (last & 0xfffffc1f) == 0xd63f0000;
#endif
}

} // namespace

bool may_return_between(std::uintptr_t from, std::uintptr_t to,
                        bool (*is_such)(std::uintptr_t code) noexcept) noexcept {
    constexpr std::uintptr_t most = 256 << 10;
    careful_memory stack, code;
    std::uint64_t word = 0;
    for (std::uintptr_t at = (from + 7) & ~std::uintptr_t{7}; at < to; at += sizeof word) {
        if (!stack.read(at, word)) return false; // the stack's end
        if (at - from > most || (is_such(word) && follows_call(word, code))) return true;
    }
    return false;
}

} // namespace comity::sys
