// What Comity needs of the system.
#pragma once

#include <string>

namespace comity::cli {

// Why this system cannot carry Comity at all, in words; empty when it can.
std::string find_system_obstacle();

} // namespace comity::cli
