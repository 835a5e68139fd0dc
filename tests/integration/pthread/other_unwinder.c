/* An unwinder that a program brings, as some do with libunwind: libgcc's, which knows only frames of exceptions that it
 * was itself asked to raise. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unwind.h>

#define EXPORTED __attribute__((visibility("default")))

static void *librarys(const char *name) {
    void *handle = dlopen("libgcc_s.so.1", RTLD_LAZY | RTLD_LOCAL);
    void *found = handle ? dlsym(handle, name) : NULL;
    if (!found) abort();
    return found;
}

static int raised;

EXPORTED _Unwind_Reason_Code _Unwind_RaiseException(struct _Unwind_Exception *exception) {
    _Unwind_Reason_Code (*raise)(struct _Unwind_Exception *) = librarys("_Unwind_RaiseException");
    __atomic_store_n(&raised, 1, __ATOMIC_RELAXED);
    return raise(exception);
}

EXPORTED void *_Unwind_GetLanguageSpecificData(struct _Unwind_Context *context) {
    void *(*get)(struct _Unwind_Context *) = librarys("_Unwind_GetLanguageSpecificData");
    if (!__atomic_load_n(&raised, __ATOMIC_RELAXED)) {
        fprintf(stderr, "other_unwinder: a frame of another one's\n");
        abort();
    }
    return get(context);
}
