// Would the dynamic loader accept the drop-ins in this program? A library path of the program's own, or of the user's,
// may hold a C or C++ library older than the one that Comity was built with, and then the loader ends the program.
#pragma once

#include <string>

#include "program.hpp"

namespace comity::cli {

// Empty when the drop-ins will load, else why not. Where nothing out of the ordinary is in sight (this program's own
// loader, no library paths) it is taken for granted; else the loader is asked, which costs about 3 ms: it loads
// everything and lists it, and nothing of the program is executed.
std::string check_loader(const program_info &program, const std::string &preload);

} // namespace comity::cli
