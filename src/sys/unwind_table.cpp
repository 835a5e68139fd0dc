#include "sys/unwind_table.hpp"

#include "sys/loaded_objects.hpp"

namespace comity::sys {

std::uint64_t table_reader::uleb() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        const auto byte = number<std::uint8_t>();
        if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return value;
    }
}

std::int64_t table_reader::sleb() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0;;) {
        const auto byte = number<std::uint8_t>();
        if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
        shift += 7;
        if (byte & 0x80) continue;
        if ((byte & 0x40) && shift < 64) value |= ~std::uint64_t{0} << shift;
        return static_cast<std::int64_t>(value);
    }
}

namespace {

// DW_EH_PE_*: the low half says what is there, the high one to what it is relative: nothing, or its own place.
constexpr std::uint8_t as_it_is = 0, to_its_place = 0x10, relative = 0x70;
constexpr std::uint8_t sorted_offsets = 0x3b; // of a table: 32 bits each, from its header

std::uint64_t encoded(table_reader &r, std::uint8_t encoding) noexcept {
    const auto place = reinterpret_cast<std::uintptr_t>(r.at);
    const std::uint8_t to = encoding & relative;
    if (to != as_it_is && to != to_its_place) r.fail();
    const std::uint64_t base = to == to_its_place ? place : 0;
    switch (encoding & 0xf) {
    case 0x0:
    case 0x4:
    case 0xc:
        return base + r.number<std::uint64_t>();
    case 0x1:
        return base + r.uleb();
    case 0x2:
        return base + r.number<std::uint16_t>();
    case 0x3:
        return base + r.number<std::uint32_t>();
    case 0x9:
        return base + static_cast<std::uint64_t>(r.sleb());
    case 0xa:
        return base + static_cast<std::uint64_t>(std::int64_t{r.number<std::int16_t>()});
    case 0xb:
        return base + static_cast<std::uint64_t>(std::int64_t{r.number<std::int32_t>()});
    default:
        r.fail();
        return 0;
    }
}

// The entry (FDE) of the last function that begins before the code or there, by the object's sorted table.
const std::uint8_t *entry_before(const std::uint8_t *header, std::uintptr_t code) noexcept {
    constexpr std::size_t longest_head = 4 + 2 * sizeof(std::uint64_t);
    if (header[0] != 1 || header[3] != sorted_offsets) return nullptr;
    table_reader head{header + 4, header + longest_head};
    (void)encoded(head, header[1]); // the entries' begin
    const std::uint64_t count = encoded(head, header[2]);
    if (!head.is_whole || count == 0) return nullptr;
    struct place {
        std::int32_t function, entry;
    };
    const auto *places = reinterpret_cast<const place *>(head.at);
    const auto base = reinterpret_cast<std::uintptr_t>(header);
    const auto begin = [=](std::uint64_t i) {
        return base + static_cast<std::uintptr_t>(std::intptr_t{places[i].function});
    };
    if (begin(0) > code) return nullptr;
    std::uint64_t first = 0;
    for (std::uint64_t after = count; after - first > 1;) {
        const std::uint64_t middle = first + (after - first) / 2;
        (begin(middle) <= code ? first : after) = middle;
    }
    return header + places[first].entry;
}

// What entries have in common (CIE).
struct common_part {
    std::uint64_t code_step = 1;
    std::int64_t data_step = 1;
    unsigned return_register = 0;
    std::uint8_t encoding = 0;
    bool is_signal = false, is_augmented = false;
    table_reader operations{nullptr, nullptr};
};

table_reader body_of(const std::uint8_t *at) noexcept {
    std::uint32_t size = 0;
    __builtin_memcpy(&size, at, sizeof size);
    constexpr std::uint32_t longer = 0xffffffff;
    if (size == longer) size = 0; // none of these is
    return {at + sizeof size, at + sizeof size + size};
}

bool read_augmentation(const char *kinds, table_reader &r, common_part &c) noexcept {
    c.is_augmented = *kinds == 'z';
    if (!c.is_augmented) return *kinds == 0;
    const std::uint64_t size = r.uleb();
    const std::uint8_t *const after = r.at + size;
    for (++kinds; *kinds; ++kinds) {
        if (*kinds == 'R')
            c.encoding = r.number<std::uint8_t>();
        else if (*kinds == 'P')
            (void)encoded(r, r.number<std::uint8_t>() & 0xf);
        else if (*kinds == 'L')
            (void)r.number<std::uint8_t>();
        else if (*kinds == 'S')
            c.is_signal = true;
        else if (*kinds != 'B')
            return false;
    }
    if (after > r.end) return false;
    r.at = after;
    return r.is_whole;
}

bool read_common(const std::uint8_t *at, common_part &c) noexcept {
    table_reader r = body_of(at);
    if (r.number<std::uint32_t>() != 0) return false;
    const auto version = r.number<std::uint8_t>();
    if (version != 1 && version != 3) return false;
    const auto *kinds = reinterpret_cast<const char *>(r.at);
    while (r.is_whole && r.number<std::uint8_t>() != 0) {
    }
    c.code_step = r.uleb();
    c.data_step = r.sleb();
    c.return_register = version == 1 ? r.number<std::uint8_t>() : static_cast<unsigned>(r.uleb());
    if (!r.is_whole || c.return_register >= registers_in_all || !read_augmentation(kinds, r, c)) return false;
    c.operations = r;
    return true;
}

// ---- The rules, as the operations change them from instruction to instruction (DW_CFA_*).

using row = decltype(frame_rules::row);

class rule_machine {
public:
    rule_machine(const common_part &c, std::uintptr_t begin, std::uintptr_t code) noexcept
        : c_(c), at_(begin), code_(code), now_{} {} // the others are written before they are read

    // False: there is one that it does not know.
    bool run(table_reader r) noexcept {
        while (r.is_whole && r.at != r.end)
            if (!step(r, r.number<std::uint8_t>())) return false;
        return r.is_whole;
    }
    // What has been set so far is what is restored later.
    void begin_function() noexcept { initial_ = now_; }
    // As the code is reached, the row stays; what comes after that is only looked at.
    const row &result() const noexcept { return is_reached_ ? there_ : now_; }
    bool saves_data_registers() const noexcept { return saves_data_registers_; }

private:
    using found = register_rule::found;
    static constexpr unsigned most_remembered = 4;

    void advance(std::uint64_t steps) noexcept {
        at_ += steps * c_.code_step;
        if (at_ <= code_ || is_reached_) return;
        is_reached_ = true;
        there_ = now_;
    }
    // Those that an unwinder gives to who catches an exception.
    void set(std::uint64_t which, found how, std::int64_t offset, std::uint16_t from = 0) noexcept {
        constexpr unsigned data_registers = stack_register == 7 ? 2 : 4;
        if (which < data_registers && how == found::at_offset) saves_data_registers_ = true;
        if (which >= registers_in_all) return; // the vector unit's
        now_.of[which].how = how;
        now_.of[which].from = from;
        now_.of[which].offset = offset;
    }
    void set_expression(std::uint64_t which, found how, table_reader &r) noexcept {
        const std::uint8_t *const at = r.at;
        r.skip(r.uleb());
        if (which >= registers_in_all) return;
        now_.of[which].how = how;
        now_.of[which].expression = at;
    }
    void restore(std::uint64_t which) noexcept {
        if (which < registers_in_all) now_.of[which] = initial_.of[which];
    }
    void set_end(std::uint64_t from, std::int64_t offset) noexcept {
        now_.end.how = found::in_register;
        now_.end.from = static_cast<std::uint16_t>(from);
        now_.end.offset = offset;
    }
    std::int64_t scaled(std::int64_t n) const noexcept { return n * c_.data_step; }
    std::int64_t unscaled(table_reader &r) noexcept { return static_cast<std::int64_t>(r.uleb()); }
    bool step(table_reader &r, std::uint8_t operation) noexcept;
    bool step_of_end(table_reader &r, std::uint8_t operation) noexcept;
    bool step_of_register(table_reader &r, std::uint8_t operation) noexcept;

    const common_part &c_;
    std::uintptr_t at_, code_;
    bool is_reached_ = false, saves_data_registers_ = false;
    unsigned remembered_ = 0;
    row now_, initial_, there_, stack_[most_remembered];
};

bool rule_machine::step(table_reader &r, std::uint8_t operation) noexcept {
    const std::uint8_t low = operation & 0x3f;
    switch (operation >> 6) {
    case 1:
        return advance(low), true;
    case 2:
        return set(low, found::at_offset, scaled(unscaled(r))), true;
    case 3:
        return restore(low), true;
    default:
        break;
    }
    switch (operation) {
    case 0x00: // nothing
    case 0x2d: // how a return address is signed
        return true;
    case 0x02:
        return advance(r.number<std::uint8_t>()), true;
    case 0x03:
        return advance(r.number<std::uint16_t>()), true;
    case 0x04:
        return advance(r.number<std::uint32_t>()), true;
    case 0x0a:
        if (remembered_ == most_remembered) return false;
        stack_[remembered_++] = now_;
        return true;
    case 0x0b:
        if (remembered_ == 0) return false;
        now_ = stack_[--remembered_];
        return true;
    case 0x2e: // size of arguments
        return (void)r.uleb(), true;
    default:
        return step_of_end(r, operation) || step_of_register(r, operation);
    }
}

bool rule_machine::step_of_end(table_reader &r, std::uint8_t operation) noexcept {
    switch (operation) {
    case 0x0c: {
        const std::uint64_t from = r.uleb();
        return set_end(from, unscaled(r)), true;
    }
    case 0x0d:
        now_.end.from = static_cast<std::uint16_t>(r.uleb());
        return true;
    case 0x0e:
        now_.end.offset = unscaled(r);
        return true;
    case 0x0f:
        now_.end.how = found::by_expression;
        now_.end.expression = r.at;
        return r.skip(r.uleb()), true;
    case 0x12: {
        const std::uint64_t from = r.uleb();
        return set_end(from, scaled(r.sleb())), true;
    }
    case 0x13:
        now_.end.offset = scaled(r.sleb());
        return true;
    default:
        return false;
    }
}

bool rule_machine::step_of_register(table_reader &r, std::uint8_t operation) noexcept {
    const std::uint64_t which = r.uleb();
    switch (operation) {
    case 0x05:
        return set(which, found::at_offset, scaled(unscaled(r))), true;
    case 0x06:
        return restore(which), true;
    case 0x07:
        return set(which, found::nowhere, 0), true;
    case 0x08:
        return set(which, found::as_it_is, 0), true;
    case 0x09:
        return set(which, found::in_register, 0, static_cast<std::uint16_t>(r.uleb())), true;
    case 0x10:
        return set_expression(which, found::at_expression, r), true;
    case 0x11:
        return set(which, found::at_offset, scaled(r.sleb())), true;
    case 0x14:
        return set(which, found::by_offset, scaled(unscaled(r))), true;
    case 0x15:
        return set(which, found::by_offset, scaled(r.sleb())), true;
    case 0x16:
        return set_expression(which, found::by_expression, r), true;
    case 0x2f:
        return set(which, found::at_offset, -scaled(unscaled(r))), true;
    default:
        return false;
    }
}

} // namespace

bool find_frame_rules(std::uintptr_t code, frame_rules &rules) noexcept {
    const auto *header = static_cast<const std::uint8_t *>(unwind_table_around(reinterpret_cast<const void *>(code)));
    const std::uint8_t *const entry = header ? entry_before(header, code) : nullptr;
    if (!entry) return false;
    table_reader r = body_of(entry);
    const std::uint8_t *const place = r.at;
    common_part c;
    const auto back = r.number<std::uint32_t>();
    if (back == 0 || !read_common(place - back, c)) return false;
    const std::uint64_t begin = encoded(r, c.encoding), size = encoded(r, c.encoding & 0xf);
    if (!r.is_whole || code - begin >= size) return false;
    if (c.is_augmented) r.skip(r.uleb());
    rule_machine m(c, begin, code);
    if (!m.run(c.operations)) return false;
    m.begin_function();
    if (!m.run(r)) return false;
    rules.function = begin;
    rules.return_register = c.return_register;
    rules.is_signal = c.is_signal;
    rules.leaves_sideways = !c.is_signal && m.saves_data_registers();
    rules.row = m.result();
    return true;
}

} // namespace comity::sys
