#include "sys/called_function.hpp"

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

struct search {
    std::uintptr_t from = 0;    // the frame that stands there is the first to count; 0: the first of all
    const char *name = nullptr; // null: the outermost function so far is not exported
};

// False: the address is not in Comity's code.
bool look_at(std::uintptr_t code, search &s) noexcept {
    Dl_info info{};
    if (!::dladdr(reinterpret_cast<const void *>(code), &info) || !info.dli_fname || !is_own(info.dli_fname))
        return false;
    s.name = info.dli_sname;
    return true;
}

_Unwind_Reason_Code visit(_Unwind_Context *frame, void *argument) {
    auto &s = *static_cast<search *>(argument);
    const std::uintptr_t code = get_cpp_library().code_of(frame);
    const bool is_first = s.from == code;
    if (s.from != 0 && !is_first) return _URC_NO_REASON;
    s.from = 0;
    // Others stand behind a call.
    return look_at(is_first ? code : code - 1, s) ? _URC_NO_REASON : _URC_NORMAL_STOP;
}

} // namespace

called_function::called_function(const char *otherwise) noexcept {
    search s;
    const cpp_library &library = get_cpp_library();
    if (library.is_there) library.backtrace(visit, &s);
    format_text(name_, sizeof name_, "%s", s.name ? s.name : otherwise);
}

called_function::called_function(std::uintptr_t pc) noexcept {
    search s;
    name_[0] = 0;
    if (!look_at(pc, s)) return;
    s.from = pc;
    if (const cpp_library &library = get_cpp_library(); library.is_there) library.backtrace(visit, &s);
    format_text(name_, sizeof name_, "%s", s.name ? s.name : "Comity");
}

} // namespace comity::sys
