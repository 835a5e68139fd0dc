// The choice between the two providers, and the difference that decides it.
#include <cerrno>
#include <string>

#include <dlfcn.h>

#include <gtest/gtest.h>

#include "core/tls/base.hpp"
#include "core/tls/provider.hpp"
#include "core/tls/sanitized.hpp"
#include "core/tls/visit.hpp"

using namespace comity;
using namespace comity::core;
using sys::tls_choice;

namespace {

constexpr std::size_t stack_size = 64 * 1024;

bool glibc_blocks() { return tls_self_test(tls_provider::glibc) == nullptr; }

int call_on(tls_block *block, int (*function)()) {
    struct call {
        int (*function)();
        int result = -1;
    } c{function};
    visit v;
    v.block = block;
    v.arg = &c;
    v.fn = [](visit &self) {
        auto &c = *static_cast<call *>(self.arg);
        c.result = c.function();
    };
    enter(v);
    return c.result;
}

struct late_library {
    explicit late_library(const char *path) : handle(dlopen(path, RTLD_NOW)) {
        if (!handle) return;
        initial_exec = reinterpret_cast<int (*)()>(dlsym(handle, "late_initial_exec"));
        global_dynamic = reinterpret_cast<int (*)()>(dlsym(handle, "late_global_dynamic"));
    }
    void *handle; // never closed: blocks may have its variables
    int (*initial_exec)() = nullptr;
    int (*global_dynamic)() = nullptr;
};

} // namespace

TEST(tls_self_test, passes_for_donors_and_touches_nothing_of_the_caller) {
    detect_tls_base();
    errno = EDOM;
    const std::uintptr_t base = tls_base();
    EXPECT_STREQ(tls_self_test(tls_provider::donor), nullptr);
    EXPECT_EQ(errno, EDOM);
    EXPECT_EQ(tls_base(), base);
    EXPECT_NE(tls_self_test(tls_provider::none), nullptr);
}

#if defined(__x86_64__)
TEST(tls_self_test, passes_without_the_instruction_that_writes_the_base) {
    detect_tls_base();
    const bool here = has_fsgsbase;
    has_fsgsbase = false;
    EXPECT_STREQ(tls_self_test(tls_provider::donor), nullptr);
    has_fsgsbase = here;
}
#endif

TEST(tls_provider_choice, is_donor_unless_glibc_is_asked_for) {
    EXPECT_EQ(choose_tls_provider(tls_choice::automatic), tls_provider::donor);
    EXPECT_EQ(choose_tls_provider(tls_choice::donor), tls_provider::donor);
    if (!glibc_blocks()) GTEST_SKIP() << "no glibc blocks here";
    EXPECT_EQ(choose_tls_provider(tls_choice::glibc), tls_provider::glibc);
}

TEST(tls_provider_choice, the_other_is_used_with_one_warning_when_the_first_fails) {
    if (!glibc_blocks()) GTEST_SKIP() << "no glibc blocks here";
    set_donor_start_hook([] { return EAGAIN; });
    testing::internal::CaptureStderr();
    EXPECT_EQ(choose_tls_provider(tls_choice::automatic), tls_provider::glibc);
    const std::string said = testing::internal::GetCapturedStderr();
    set_donor_start_hook(nullptr);
    EXPECT_EQ(said,
              "comity: thread-local storage from sleeping threads (donor) does not work here (no kernel "
              "thread can be made: a limit is reached); it comes from the C library's allocator (glibc) instead\n");
}

TEST(tls_provider_choice, names_the_variable_if_it_is_set) {
    if (!glibc_blocks()) GTEST_SKIP() << "no glibc blocks here";
    set_donor_start_hook([] { return EAGAIN; });
    testing::internal::CaptureStderr();
    EXPECT_EQ(choose_tls_provider(tls_choice::donor), tls_provider::glibc);
    EXPECT_EQ(testing::internal::GetCapturedStderr().find("comity: COMITY_TLS=donor: thread-local storage from"), 0U);
    set_donor_start_hook(nullptr);
}

TEST(tls_provider_choice, is_none_when_both_fail) {
    if (!tls_sanitized) GTEST_SKIP() << "glibc blocks work here; under a sanitizer there are none";
    set_donor_start_hook([] { return EAGAIN; });
    testing::internal::CaptureStderr();
    EXPECT_EQ(choose_tls_provider(tls_choice::automatic), tls_provider::none);
    EXPECT_EQ(testing::internal::GetCapturedStderr().find("comity: no thread-local storage for contexts"), 0U);
    set_donor_start_hook(nullptr);
}

TEST(late_library, a_donor_has_its_variables_of_both_models) {
    detect_tls_base();
    int error = 0;
    tls_block *block = make_donor_block(stack_size, error);
    ASSERT_NE(block, nullptr);
    const late_library late(LATE_LIBRARY_FOLDER "/late_library_donor.so");
    ASSERT_NE(late.handle, nullptr) << dlerror();
    EXPECT_EQ(call_on(block, late.initial_exec), 42);
    EXPECT_EQ(call_on(block, late.global_dynamic), 43);
    EXPECT_EQ(call_on(block, late.global_dynamic), 44);
    EXPECT_EQ(late.global_dynamic(), 43);
    free_tls_block(block);
}

// Why donors are the default. Should this ever fail, the C library has learnt of the blocks: then choose anew.
TEST(late_library, a_glibc_block_lacks_initial_exec_variables_of_libraries_younger_than_it) {
    if (!glibc_blocks()) GTEST_SKIP() << "no glibc blocks here";
    int error = 0;
    tls_block *older = make_glibc_block(stack_size, error);
    ASSERT_NE(older, nullptr);
    const late_library late(LATE_LIBRARY_FOLDER "/late_library_glibc.so");
    ASSERT_NE(late.handle, nullptr) << dlerror();
    tls_block *younger = make_glibc_block(stack_size, error);
    ASSERT_NE(younger, nullptr);
    EXPECT_NE(call_on(older, late.initial_exec), 42);
    EXPECT_NE(call_on(older, late.global_dynamic), 43); // one such variable, and all of the library lie there
    EXPECT_EQ(call_on(younger, late.initial_exec), 42);
    EXPECT_EQ(call_on(younger, late.global_dynamic), 43);
    free_tls_block(younger);
    free_tls_block(older);
}
