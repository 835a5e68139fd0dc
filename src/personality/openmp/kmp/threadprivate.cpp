// threadprivate, where the compiler does not use thread-local storage of its own (flang; clang with
// -fnoopenmp-use-tls).
#include "personality/openmp/threadprivate.hpp"
#include "personality/openmp/kmp/abi.hpp"

using namespace comity::openmp;
using namespace comity::openmp::kmp;

COMITY_KMP void __kmpc_threadprivate_register(const ident *, void *variable, void *(*construct)(void *),
                                              void *(*copy)(void *, void *), void (*destroy)(void *)) noexcept {
    threadprivate_functions functions;
    functions.construct = construct;
    functions.copy = copy;
    functions.destroy = destroy;
    register_threadprivate(variable, functions);
}

COMITY_KMP void __kmpc_threadprivate_register_vec(const ident *, void *variable,
                                                  void *(*construct)(void *, std::size_t),
                                                  void *(*copy)(void *, void *, std::size_t),
                                                  void (*destroy)(void *, std::size_t), std::size_t length) noexcept {
    threadprivate_functions functions;
    functions.construct_all = construct;
    functions.copy_all = copy;
    functions.destroy_all = destroy;
    functions.length = length;
    register_threadprivate(variable, functions);
}

COMITY_KMP void *__kmpc_threadprivate(const ident *, i32, void *variable, std::size_t size) noexcept {
    return threadprivate_copy(variable, size);
}
// The compiler's cache, an array by thread number, stays empty: numbers are not dense, and the copy is in the caller's
// own thread-local storage.
COMITY_KMP void *__kmpc_threadprivate_cached(const ident *, i32, void *variable, std::size_t size, void ***) noexcept {
    return threadprivate_copy(variable, size);
}
