// What calls that sleep know of descriptors.
#pragma once

namespace comity::posix {

// Would the calling thread, one of ours, sleep for input from the descriptor?
bool sleeps_for_input(int fd) noexcept;

} // namespace comity::posix
