// What compilers call by name for exceptions that pass through Comity's libraries, each of which has these functions to
// itself (cpp_library.hpp).
#include "sys/cpp_library.hpp"

#include <cstdlib>
#include <exception>

using comity::sys::get_cpp_library;

void std::terminate() noexcept {
    get_cpp_library().terminate();
    std::abort();
}

extern "C" {

_Unwind_Reason_Code __gxx_personality_v0(int version, _Unwind_Action actions, _Unwind_Exception_Class its_class,
                                         _Unwind_Exception *exception, _Unwind_Context *context) {
    return get_cpp_library().personality(version, actions, its_class, exception, context);
}
void *__cxa_begin_catch(void *exception) noexcept { return get_cpp_library().begin_catch(exception); }
void __cxa_end_catch() { get_cpp_library().end_catch(); }

void _Unwind_Resume(_Unwind_Exception *exception) {
    get_cpp_library().resume(exception);
    std::abort();
}
_Unwind_Reason_Code _Unwind_ForcedUnwind(_Unwind_Exception *exception, _Unwind_Stop_Fn stop, void *argument) {
    return get_cpp_library().unwind(exception, stop, argument);
}
_Unwind_Word _Unwind_GetCFA(_Unwind_Context *context) { return get_cpp_library().frame_of(context); }

// Destructors of thread_local variables are the C library's matter.
int __cxa_thread_atexit_impl(void (*destroy)(void *), void *object, void *library);
int __cxa_thread_atexit(void (*destroy)(void *), void *object, void *library) noexcept {
    return __cxa_thread_atexit_impl(destroy, object, library);
}
}
