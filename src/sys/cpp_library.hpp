// What Comity needs of the C++ library and of its unwinder. None of Comity's libraries is linked with them: most
// processes that a drop-in is loaded into never start Comity, and loading the two takes as long as all else that the
// drop-ins do at the begin of a process. Comity's start loads them. What compilers call by name is in
// cpp_exception_entries.cpp and cpp_memory_entries.cpp.
#pragma once

#include "sys/shared.hpp"

#include <unwind.h>

namespace comity::sys {

struct cpp_library {
    void *(*get_globals)(); // of the calling thread: __cxa_get_globals
    void *(*begin_catch)(void *exception);
    void (*end_catch)();
    void (*terminate)();
    // _Unwind_RaiseException and so on; in the end those of a frame, _Unwind_GetCFA and _Unwind_GetIP. Nothing is asked
    // of the unwinder for code that a signal has interrupted: that may be the unwinder itself (call_frames.hpp).
    _Unwind_Reason_Code (*raise)(_Unwind_Exception *);
    void (*resume)(_Unwind_Exception *);
    _Unwind_Reason_Code (*unwind)(_Unwind_Exception *, _Unwind_Stop_Fn, void *);
    _Unwind_Reason_Code (*backtrace)(_Unwind_Trace_Fn, void *);
    _Unwind_Word (*frame_of)(_Unwind_Context *);
    _Unwind_Ptr (*code_of)(_Unwind_Context *);
    _Unwind_Reason_Code (*personality)(int version, _Unwind_Action actions, _Unwind_Exception_Class its_class,
                                       _Unwind_Exception *exception, _Unwind_Context *context);
    bool is_there; // false: the process could not load it
};

// Any thread, not in a signal handler. The first call asks the dynamic linker, which takes its lock and some kilobytes
// of stack. Where the process cannot load the library there are no exceptions: `get_globals` gives a place that only
// Comity uses, and what concerns them ends the process.
COMITY_SHARED const cpp_library &get_cpp_library() noexcept;

// Any function of it; nullptr: there is none. As the first call of get_cpp_library.
COMITY_SHARED void *find_in_cpp_library(const char *name) noexcept;

} // namespace comity::sys
