/* What the test programs share: checks that count, and the witness that Comity answered, not another libgomp. */
#ifndef COMITY_TEST_CHECK_H
#define COMITY_TEST_CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

#define CHECK(what)                                                                                                    \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #what);                                       \
            __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);                                                        \
        }                                                                                                              \
    } while (0)

#define CHECK_EQUAL(is, shall)                                                                                         \
    do {                                                                                                               \
        long long is_ = (long long)(is), shall_ = (long long)(shall);                                                  \
        if (is_ != shall_) {                                                                                           \
            fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #is, is_, shall_);                    \
            __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);                                                        \
        }                                                                                                              \
    } while (0)

/* Ends the program unless the OpenMP calls go to Comity's drop-in. */
static void witness_comity(void) {
    Dl_info info;
#if defined(__clang__) || defined(COMITY_TEST_LIBOMP)
    const char *entry = "__kmpc_fork_call", *library = "comity/libomp.so.5";
#else
    const char *entry = "GOMP_parallel", *library = "comity/libgomp.so.1";
#endif
    void *parallel = dlsym(RTLD_DEFAULT, entry);
    if (!dlsym(RTLD_DEFAULT, "comity_version") || !parallel || !dladdr(parallel, &info) ||
        !strstr(info.dli_fname, library)) {
        fprintf(stderr, "this run is not Comity's\n");
        exit(99);
    }
}

/* Whether the program's threads are Comity's, too. */
__attribute__((unused)) static int threads_are_comitys(void) {
    Dl_info info;
    void *create = dlsym(RTLD_DEFAULT, "pthread_create");
    return create && dladdr(create, &info) && strstr(info.dli_fname, "libcomity_threads") != NULL;
}

static int report(void) {
    if (failures) fprintf(stderr, "%d checks failed\n", failures);
    return failures ? 1 : 0;
}

#endif
