// The self-test of a provider: a context on one of its blocks uses all that depends on thread-local storage.
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/tls/base.hpp"
#include "core/tls/block.hpp"
#include "core/tls/visit.hpp"
#include "sys/cpp_library.hpp"
#include "sys/thread_probe.hpp"

namespace comity::core {
namespace {

struct initial {
    int number = 12345;
    double fraction = 2.5;
};
thread_local initial with_values;
thread_local char zeroes[256];

const char *check_variables() noexcept {
    if (with_values.number != 12345 || with_values.fraction != 2.5)
        return "a thread_local variable lacks its initial value";
    for (const char c : zeroes)
        if (c != 0) return "a thread_local array is not zero";
    with_values.number = 1;
    std::memset(zeroes, 1, sizeof zeroes);
    if (errno != 0) return "errno is not the block's own";
    errno = ERANGE;
    return nullptr;
}

const char *check_heap() noexcept {
    void *blocks[16];
    for (std::size_t i = 0; i < 16; ++i)
        if ((blocks[i] = std::malloc(24 + i * 100))) std::memset(blocks[i], 1, 24 + i * 100);
    for (void *block : blocks) std::free(block);
    return nullptr; // what it has broken ends the process by itself
}

// One that is nobody's: Comity is not linked with the C++ library, which has the types of what it throws.
struct exception {
    _Unwind_Exception head{};
    bool is_caught = false;
};

const char *check_exceptions() noexcept {
    if (!sys::get_cpp_library().is_there) return nullptr; // there are none in this process
    exception thrown[2];
    for (exception &e : thrown) {
        std::memcpy(&e.head.exception_class, "COMITY\0", sizeof e.head.exception_class);
        e.head.exception_cleanup = [](_Unwind_Reason_Code, _Unwind_Exception *head) {
            reinterpret_cast<exception *>(head)->is_caught = true;
        };
        try {
            sys::get_cpp_library().raise(&e.head);
        } catch (...) {
            if (e.is_caught) return "a C++ exception ends before its handler does";
        }
        if (!e.is_caught) return "a C++ exception is not caught";
    }
    return nullptr;
}

const char *check_locale() noexcept {
    volatile int letter = 'a', digit = '7'; // no constants: the tables shall be read
    if (!std::isalpha(letter) || std::isalpha(digit) || !std::isdigit(digit)) return "isalpha is wrong";
    return std::strtod("0x1.8p1", nullptr) == 3.0 ? nullptr : "strtod is wrong";
}

void check_all(visit &v) noexcept {
    const char *&wrong = *static_cast<const char **>(v.arg);
    if (tls_base() != v.block->base) wrong = "the thread pointer does not change";
    if (!wrong) wrong = check_variables();
    if (!wrong) wrong = sys::probe_thread(v.block->base);
    leave(v); // and back once more, as switching contexts does
    if (!wrong && errno != ERANGE) wrong = "errno does not stay";
    if (!wrong) wrong = check_heap();
    if (!wrong) wrong = check_exceptions();
    if (!wrong) wrong = check_locale();
}

} // namespace

const char *tls_self_test(tls_provider provider) noexcept {
    if (provider == tls_provider::none) return "there is no provider";
    constexpr std::size_t stack_size = std::size_t{64} << 10;
    const std::uintptr_t own = tls_base();
    const int kept = errno;
    const int number = with_values.number;
    // Once here, so that what is looked up at its first use is: on the block the dynamic linker's lock, which this
    // thread may hold while it runs a library's constructor, would be somebody else's.
    const char *wrong = sys::probe_thread(own);
    if (wrong) return wrong;
    int error = 0;
    tls_block *block =
        provider == tls_provider::donor ? make_donor_block(stack_size, error) : make_glibc_block(stack_size, error);
    if (!block) {
        if (error == ENOMEM) return "there is no memory";
        return provider == tls_provider::donor ? "no kernel thread can be made: a limit is reached"
                                               : "this C library is not known well enough";
    }
    visit v;
    v.block = block;
    v.fn = check_all;
    v.arg = &wrong;
    enter(v);
    if (!wrong && errno != kept) wrong = "errno is shared";
    reenter(v);
    if (!wrong && (tls_base() != own || with_values.number != number || errno != kept)) wrong = "the way back is wrong";
    free_tls_block(block);
    errno = kept;
    return wrong;
}

} // namespace comity::core
