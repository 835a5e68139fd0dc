// Values of work units by key.
#pragma once

#include "personality/argobots/object.hpp"

namespace comity::abt {

struct key {
    void (*destructor)(void *) = nullptr;
    std::uint64_t id = 0;
};

// ABT_SUCCESS or ABT_ERR_MEM.
int set_value(thread *t, const key *k, void *value) noexcept;
// The work unit is freed: calls the destructors of what is not null.
void destroy_values(thread *t) noexcept;

} // namespace comity::abt
