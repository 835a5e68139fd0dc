// The child of a vfork: another process, which has this one's memory, and the storage of the thread that made it, until
// it starts a program or ends. What it changes about signals must not be changed here. README.md, "Signals".
#pragma once

#include "personality/pthread/threads/signals.hpp"

namespace comity::posix {

// Is the caller one? A system call.
bool in_vforked_child() noexcept;

// What it has set itself, in the kernel; everything else is as its parent's thread has it. Only in such a child.
struct vforked_child {
    bool has_mask = false;
    signal_set actions = 0;
};
vforked_child &this_vforked_child() noexcept;

} // namespace comity::posix
