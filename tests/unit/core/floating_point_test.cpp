// A context finds its own status flags of floating-point operations when it goes on, whatever others have computed
// meanwhile.
#include "comity/thread.h"

#include <gtest/gtest.h>

#include <cfenv>

#if defined(__x86_64__)
extern "C"
    __attribute__((visibility("hidden"))) unsigned char comity_arch_loads_mxcsr; // how this processor restores them
#endif

namespace {

// "Inexact" is not among them: on Intel's processors it is left as it is.
constexpr int flags = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW;
constexpr int rounds = 50;

void raise_all() {
    volatile double zero = 0, large = 1e308, small = 1e-308, sink = 0;
    sink = zero / zero;
    sink = 1 / zero;
    sink = large * large;
    sink = small * small;
    static_cast<void>(sink);
}

// In turns with the other threads; how often the flags are not those of this thread.
template <bool raises> void *computes(void *) {
    std::feclearexcept(FE_ALL_EXCEPT);
    if (raises) raise_all();
    std::uintptr_t wrong = 0;
    for (int round = 0; round < rounds; ++round) {
        comity_thread_yield();
        wrong += std::fetestexcept(flags) != (raises ? flags : 0);
        volatile double one = 1, three = 3, sink = one / three; // inexact, in some threads earlier than in others
        static_cast<void>(sink);
    }
    return reinterpret_cast<void *>(wrong);
}

void flags_stay() {
    ASSERT_EQ(comity_threads_begin(), 0);
    for (const comity_technique_t technique :
         {COMITY_TECHNIQUE_FULL, COMITY_TECHNIQUE_FULL_L, COMITY_TECHNIQUE_ROC_L}) {
        const comity_thread_attr_t attributes{technique, 0, 0, 0};
        comity_thread_t *threads[6];
        for (int i = 0; i < 6; ++i)
            ASSERT_EQ(comity_thread_create(&threads[i], &attributes, i % 2 ? computes<true> : computes<false>, nullptr),
                      0);
        for (comity_thread_t *t : threads) {
            void *wrong = nullptr;
            EXPECT_EQ(comity_thread_join(t, &wrong), 0);
            EXPECT_EQ(wrong, nullptr);
        }
    }
    comity_threads_end();
}

TEST(floating_point, flags_stay_with_a_thread) { flags_stay(); }

#if defined(__x86_64__)
TEST(floating_point, flags_stay_with_a_thread_on_processors_that_restore_them_in_the_other_way) {
    comity_arch_loads_mxcsr ^= 1;
    flags_stay();
    comity_arch_loads_mxcsr ^= 1;
}
#endif

} // namespace
