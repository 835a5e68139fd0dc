// Descriptors and contexts of threads, kept per hart so that creating one costs a few instructions.
#pragma once

#include "thread/thread.hpp"

namespace comity {

// A descriptor; null when there is no memory. k: the calling carrier, with a hart.
thread *take_descriptor(core::carrier *k) noexcept;
// k: the calling carrier with a hart, or null.
void give_back_descriptor(thread *t, core::carrier *k) noexcept;

// A fresh or exited context as the thread's attributes want it; null with an error number.
core::context *take_context(const thread *t, core::carrier *k, int &error) noexcept;
// What take_context gave for a thread with these attributes. k: as above. The context must have exited.
void give_back_context(core::context *c, std::uint32_t stack_size, bool own_tls, core::carrier *k) noexcept;

} // namespace comity
