#include "sys/called_function.hpp"

#include "sys/call_frames.hpp"
#include "sys/cpp_library.hpp"
#include "sys/message.hpp"

#include <cstring>
#include <string_view>

#include <dlfcn.h>

namespace comity::sys {

namespace {

// The drop-ins have other libraries' names, and lie in a folder of this one.
bool is_own(std::string_view path) noexcept {
    const std::size_t slash = path.rfind('/');
    const std::string_view file = slash == path.npos ? path : path.substr(slash + 1);
    return file.starts_with("libcomity") || path.find("/comity/lib") != path.npos;
}

// False: the address is not in Comity's code. Else `name` is the function's; null: it is not exported.
bool look_at(std::uintptr_t code, const char *&name) noexcept {
    Dl_info info{};
    if (!::dladdr(reinterpret_cast<const void *>(code), &info) || !info.dli_fname || !is_own(info.dli_fname))
        return false;
    name = info.dli_sname;
    return true;
}

_Unwind_Reason_Code visit(_Unwind_Context *frame, void *name) {
    const std::uintptr_t code = get_cpp_library().code_of(frame) - 1; // the call, not what stands behind it
    return look_at(code, *static_cast<const char **>(name)) ? _URC_NO_REASON : _URC_NORMAL_STOP;
}

bool visit_interrupted(const call_frame &frame, void *name) noexcept {
    return look_at(frame.code, *static_cast<const char **>(name));
}

} // namespace

called_function::called_function(const char *otherwise) noexcept {
    const char *name = nullptr;
    if (const cpp_library &library = get_cpp_library(); library.is_there) library.backtrace(visit, &name);
    format_text(name_, sizeof name_, "%s", name ? name : otherwise);
}

called_function::called_function(const interruption &at) noexcept {
    const char *name = nullptr;
    name_[0] = 0;
    is_comitys_ = look_at(at.pc, name);
    if (!is_comitys_) return;
    frame_place rest;
    (void)visit_call_frames(at, visit_interrupted, &name, rest);
    format_text(name_, sizeof name_, "%s", name ? name : "");
}

} // namespace comity::sys
