// The calls that stand on the stack of interrupted code, by the unwind tables. Any thread, in a signal handler that has
// interrupted any code, also an unwinder's own: takes no lock, allocates nothing, calls no unwinder, and reads memory
// only where the kernel can.
#pragma once

#include "sys/interruption.hpp"
#include "sys/shared.hpp"

#include <cstdint>

namespace comity::sys {

struct call_frame {
    std::uintptr_t code;       // within the instruction that was interrupted, or that has called
    std::uintptr_t function;   // where its function begins
    std::uintptr_t begin, end; // of the frame: from its stack pointer to that of its caller
};

enum class frames_end : std::uint8_t {
    outermost, // the last frame has no caller
    stopped,   // by visit
    not_known, // no table knows the next frame's code
    unwinds    // the next frame is an unwinder's that may be about to leave for another one: its callers are not known
};

// Where a frame stands of which no more is known.
struct frame_place {
    std::uintptr_t code = 0, sp = 0;
};

// Calls visit(frame, argument) for each frame, the innermost one first, until that returns false. `rest`: the frame
// after the last one that was visited.
COMITY_SHARED frames_end visit_call_frames(const interruption &i, bool (*visit)(const call_frame &, void *),
                                           void *argument, frame_place &rest) noexcept;

// Does a word of the stack in [from, to) look like a return address into such code? There may be none: it may be left
// from an earlier call. True also where that is too much to be looked at.
COMITY_SHARED bool may_return_between(std::uintptr_t from, std::uintptr_t to,
                                      bool (*is_such)(std::uintptr_t code) noexcept) noexcept;

} // namespace comity::sys
