// A POSIX thread that calls a function object, which must stay until it is joined.
#pragma once

#include <gtest/gtest.h>

#include <pthread.h>

template <class F> pthread_t start(F &f, const pthread_attr_t *a = nullptr) {
    pthread_t t{};
    EXPECT_EQ(0, pthread_create(
                     &t, a, [](void *p) -> void * { return (*static_cast<F *>(p))(), nullptr; }, &f));
    return t;
}
