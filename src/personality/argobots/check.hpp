// How the functions of the interface answer.
#pragma once

#include "personality/argobots/streams.hpp"

// Answers with an error unless the condition holds.
#define COMITY_CHECK(condition, error)                                                                                 \
    do {                                                                                                               \
        if (!(condition)) [[unlikely]]                                                                                 \
            return error;                                                                                              \
    } while (false)

// Is this between ABT_init and ABT_finalize?
#define COMITY_CHECK_READY() COMITY_CHECK(comity::abt::the_streams(), ABT_ERR_UNINITIALIZED)

// Passes an error on.
#define COMITY_TRY(call)                                                                                               \
    do {                                                                                                               \
        if (const int error_ = (call); error_ != ABT_SUCCESS) [[unlikely]]                                             \
            return error_;                                                                                             \
    } while (false)
