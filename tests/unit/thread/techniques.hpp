// Tests that run for each technique.
#pragma once

#include "comity/thread.h"

#include <gtest/gtest.h>

#include <string>

class each_technique : public testing::TestWithParam<comity_technique_t> {
public:
    static comity_thread_t *create(void *(*fn)(void *), void *arg) {
        comity_thread_attr_t attr{};
        attr.technique = GetParam();
        comity_thread_t *t = nullptr;
        EXPECT_EQ(comity_thread_create(&t, &attr, fn, arg), 0);
        return t;
    }
};

inline const auto all_techniques = testing::Values(
    COMITY_TECHNIQUE_FULL, COMITY_TECHNIQUE_FULL_L, COMITY_TECHNIQUE_ROC, COMITY_TECHNIQUE_ROC_L, COMITY_TECHNIQUE_SS,
    COMITY_TECHNIQUE_SS_L, COMITY_TECHNIQUE_SC, COMITY_TECHNIQUE_STACKLESS, COMITY_TECHNIQUE_C_FULL,
    COMITY_TECHNIQUE_C_FULL_E, COMITY_TECHNIQUE_C_ROC, COMITY_TECHNIQUE_C_ROC_E, COMITY_TECHNIQUE_AUTOMATIC);
inline const auto techniques_that_wait = testing::Values(
    COMITY_TECHNIQUE_FULL, COMITY_TECHNIQUE_FULL_L, COMITY_TECHNIQUE_ROC, COMITY_TECHNIQUE_ROC_L, COMITY_TECHNIQUE_SS,
    COMITY_TECHNIQUE_SS_L, COMITY_TECHNIQUE_SC, COMITY_TECHNIQUE_C_FULL, COMITY_TECHNIQUE_C_FULL_E,
    COMITY_TECHNIQUE_C_ROC, COMITY_TECHNIQUE_C_ROC_E, COMITY_TECHNIQUE_AUTOMATIC);

inline std::string technique_name(const testing::TestParamInfo<comity_technique_t> &i) {
    static const char *const names[] = {"default", "full",      "full_l", "roc",      "roc_l", "ss",      "ss_l",
                                        "sc",      "stackless", "c_full", "c_full_e", "c_roc", "c_roc_e", "automatic"};
    return names[i.param];
}

inline bool is_stackless(const comity_thread_t *t) {
    comity_thread_attr_t attr{};
    EXPECT_EQ(comity_thread_get_attr(t, &attr), 0);
    return attr.technique == COMITY_TECHNIQUE_STACKLESS;
}
