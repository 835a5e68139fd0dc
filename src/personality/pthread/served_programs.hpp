// Which programs' own threads Comity serves where nobody has said so (COMITY_POSIX): `comity run` decides that for the
// program that it starts, by its files, and the drop-in for those that this starts in turn, by what is loaded.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace comity::posix {

inline bool begins_as_one(std::string_view name, std::initializer_list<std::string_view> starts) noexcept {
    return std::ranges::any_of(starts, [&](std::string_view start) { return name.starts_with(start); });
}

// By a program's file name: does it load libraries that compute in parallel while it runs? Or does it make threads, but
// is mostly there to start others?
inline bool is_known_by_others(std::string_view program) noexcept {
    return program == "R" ||
           begins_as_one(program, {"python", "pypy", "ipython", "jupyter", "Rscript", "julia", "octave"}) ||
           begins_as_one(program, {"mpirun", "mpiexec", "orterun", "prterun", "srun", "perf", "gdb", "ctest", "find",
                                   "strace", "ltrace"});
}

// By a library's file name: is it one in which every program's threads begin, or Comity's own?
inline bool is_base_library(std::string_view file) noexcept {
    return begins_as_one(file, {"libc.so", "libc-", "libpthread", "libstdc++", "ld-linux", "libgcc_s", "libc++",
                                "libcomity", "libdl", "librt", "libm.so"});
}

// Is it one with which a program's threads have to share the cores?
inline bool computes_in_parallel(const char *library) noexcept {
    return begins_as_one(library,
                         {"libgomp", "libomp.", "libiomp5.", "libopenblas", "libscipy_openblas", "libflexiblas",
                          "libmkl_", "libblis", "libarmpl", "libatlas", "libsatlas", "libtatlas", "libblas", "libcblas",
                          "liblapack", "libtorch", "libfftw3_threads", "libfftw3f_threads", "libfftw3l_threads"});
}

// By what an object imports: does it make threads? Does it place them itself, having kernel threads in mind?
inline bool makes_threads(const char *name) noexcept {
    const std::string_view symbol = name;
    return symbol == "pthread_create" || symbol == "thrd_create" ||
           symbol == "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE";
}
inline bool places_threads(const char *name) noexcept {
    const std::string_view symbol = name;
    return symbol == "pthread_setaffinity_np" || symbol == "sched_setaffinity";
}

// Runtimes whose compiled code runs on stacks of its own, which have no room for the frame of a signal's handler: so
// their own handlers run on another stack, where ours, which switch, cannot. Go's is another such, but a library may
// bring that one (threads/README.md, "Invariants", 6).
struct runtime_with_own_stacks {
    const char *exports; // by the program
    const char *name;
};
inline constexpr runtime_with_own_stacks runtimes_with_own_stacks[] = {{"enif_priv_data", "Erlang's"},
                                                                       {"caml_runstack", "OCaml 5's"}};

// There is something to share where one of the program's objects, which are its file and its libraries but the base
// ones, needs one that computes in parallel. A program that makes no threads may start others, such as a shell.
template <class Objects> bool serves_threads(std::string_view program, const Objects &objects) {
    if (is_known_by_others(program)) return true;
    if (objects.program_imports(places_threads) && objects.program_imports(makes_threads)) return false;
    return objects.some_needs(computes_in_parallel) || !objects.some_imports(makes_threads);
}

} // namespace comity::posix
