// The symbols of libgomp that Comity does not serve: OpenACC, and the interface of its plug-ins for devices. They are
// there, so that a program that names them starts; one that calls them ends with a line that says which.
#include "personality/openmp/gomp/abi.hpp"
#include "sys/message.hpp"

#define NOT_SERVED(NAME)                                                                                               \
    COMITY_GOMP void NAME() {                                                                                          \
        comity::sys::fatal(                                                                                            \
            #NAME, "not served yet (docs/personality/openmp.md says what is); run the program without Comity");        \
    }
#include "personality/openmp/gomp/not_served.def"
