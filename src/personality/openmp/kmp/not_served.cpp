// The symbols of libomp that Comity does not serve: internals of the original that it exports for its own tests and
// tools, and entries that no compiler emits for the host. They are there, so that a program that names them starts; one
// that calls them ends with a line that says which.
#include "personality/openmp/kmp/abi.hpp"
#include "sys/message.hpp"

#define NOT_SERVED(NAME)                                                                                               \
    COMITY_KMP void NAME() {                                                                                           \
        comity::sys::fatal(                                                                                            \
            #NAME, "not served yet (docs/personality/openmp.md says what is); run the program without Comity");        \
    }
#include "personality/openmp/kmp/not_served.def"
