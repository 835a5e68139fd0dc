// Which of Comity's functions has the program called? For messages about a mistake of the program's that is found in
// the depth of a call.
#pragma once

#include "sys/interruption.hpp"
#include "sys/shared.hpp"

namespace comity::sys {

// The name of a function, found by the unwinder: that of the outermost frame of Comity's above the caller, if its
// library exports it.
class COMITY_SHARED called_function {
public:
    // Where it cannot be found the name is `otherwise`. Any thread, any stack; not in a signal handler. Takes the
    // dynamic linker's lock.
    explicit called_function(const char *otherwise) noexcept;
    // In the handler of a fault. The name is empty where the program has called nothing: on a hart's own stack, say.
    explicit called_function(const interruption &at) noexcept;
    const char *name() const noexcept { return name_; }
    bool is_comitys() const noexcept { return is_comitys_; } // the code of the fault

private:
    char name_[64];
    bool is_comitys_ = true;
};

} // namespace comity::sys
