// What Comity needs of the system.
#pragma once

#include <cstddef>
#include <string>

namespace comity::cli {

// Why this system cannot carry Comity at all, in words; empty when it can.
std::string find_system_obstacle();

// Why the limits of this process leave no room for Comity beside a program, in words; empty when they do. Both take
// little of the stack. The second: where Comity serves the program's own threads on so many harts.
std::string find_memory_obstacle();
std::string find_thread_obstacle(std::size_t harts);

} // namespace comity::cli
