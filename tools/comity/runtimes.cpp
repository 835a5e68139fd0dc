#include "runtimes.hpp"

#include <algorithm>
#include <optional>

#include "elf_file.hpp"

namespace comity::cli {
namespace {

std::string file_name(const std::string &path) { return path.substr(path.rfind('/') + 1); }

bool begins_with(const std::string &text, const char *start) { return text.rfind(start, 0) == 0; }

struct candidate {
    const std::string &file; // the file's name
    const elf_symbols &symbols;
    const elf_head &head;

    bool exports(const char *name) const { return symbols.exported.contains(name); }
    bool imports(const char *name) const { return symbols.imported.contains(name); }
    bool needs(const char *start) const {
        return std::any_of(head.needed.begin(), head.needed.end(),
                           [=](auto &name) { return begins_with(name, start); });
    }
    bool uses_gcc_openmp() const {
        return imports("GOMP_parallel") || imports("GOMP_parallel_start") || needs("libgomp");
    }
    bool uses_llvm_openmp() const { return imports("__kmpc_fork_call") || needs("libomp.") || needs("libiomp5."); }
};

runtime make(const char *kind, verdict what, const char *explanation) { return {kind, {}, what, explanation}; }

constexpr const char *by_drop_in = "calls to it go to Comity's libgomp.so.1, so its regions share the harts";
constexpr const char *by_llvm_drop_in = "calls to it go to Comity's libomp.so.5, so its regions share the harts";
constexpr const char *own_pool = "keeps its own threads; each is adopted while it is inside an OpenMP region that "
                                 "Comity serves (with `comity run --posix` they run on the harts)";
constexpr const char *own_pool_served = "its threads run on Comity's harts (not with `comity run --no-posix`)";

std::optional<runtime> recognise_openmp(const candidate &c) {
    if (c.exports("__kmpc_fork_call")) {
        if (begins_with(c.file, "libiomp5")) return make("libiomp5 (Intel's OpenMP)", verdict::served, by_llvm_drop_in);
        return make("libomp (LLVM's OpenMP)", verdict::served, by_llvm_drop_in);
    }
    if (c.exports("GOMP_parallel")) return make("libgomp (gcc's OpenMP)", verdict::served, by_drop_in);
    return {};
}

bool is_openblas(const candidate &c) {
    return c.exports("openblas_set_num_threads") || c.exports("scipy_openblas_set_num_threads") ||
           c.exports("openblas_set_num_threads64_") || c.exports("scipy_openblas_set_num_threads64_");
}

bool has_openblas_callback(const candidate &c) {
    return std::any_of(c.symbols.exported.begin(), c.symbols.exported.end(), [](const std::string &name) {
        return name.find("openblas_set_threads_callback_function") != std::string::npos;
    });
}

std::optional<runtime> recognise_openblas(const candidate &c) {
    if (!is_openblas(c)) return {};
    if (c.uses_gcc_openmp())
        return make("OpenBLAS on gcc's OpenMP", verdict::served,
                    "its regions share the harts through Comity's libgomp.so.1");
    if (c.uses_llvm_openmp()) return make("OpenBLAS on LLVM's OpenMP", verdict::served, by_llvm_drop_in);
    if (has_openblas_callback(c))
        return make("OpenBLAS with POSIX threads and a callback", verdict::served,
                    "runs its jobs on Comity's harts through openblas_set_threads_callback_function");
    if (c.imports("pthread_create"))
        return make("OpenBLAS with POSIX threads, no callback", verdict::adopted, own_pool);
    return make("OpenBLAS without threads", verdict::alone, "has no threads of its own");
}

std::optional<runtime> recognise_mkl(const candidate &c) {
    if (begins_with(c.file, "libmkl_gnu_thread")) return make("MKL on gcc's OpenMP", verdict::served, by_drop_in);
    if (begins_with(c.file, "libmkl_intel_thread"))
        return make("MKL on Intel's OpenMP", verdict::served, by_llvm_drop_in);
    if (begins_with(c.file, "libmkl_tbb_thread")) return make("MKL on TBB", verdict::adopted, own_pool);
    if (begins_with(c.file, "libmkl_sequential"))
        return make("MKL without threads", verdict::alone, "has no threads of its own");
    if (begins_with(c.file, "libmkl_rt"))
        return make(
            "MKL (threads chosen while it runs)", verdict::served,
            "uses Intel's OpenMP, or gcc's with MKL_THREADING_LAYER=GNU: its regions share the harts through Comity's");
    return {};
}

std::optional<runtime> recognise_others(const candidate &c) {
    if (begins_with(c.file, "libtbb.so") || begins_with(c.file, "libtbb-"))
        return make("TBB", verdict::adopted, own_pool);
    if (c.exports("bli_thread_set_num_threads"))
        return c.uses_gcc_openmp() ? make("BLIS on gcc's OpenMP", verdict::served, by_drop_in)
                                   : make("BLIS with POSIX threads", verdict::adopted, own_pool);
    if (begins_with(c.file, "libfftw3") && c.uses_gcc_openmp())
        return make("FFTW on gcc's OpenMP", verdict::served, by_drop_in);
    if (begins_with(c.file, "libfftw3") && c.imports("pthread_create"))
        return make("FFTW with POSIX threads", verdict::adopted, own_pool);
    return {};
}

// Libraries in which every program's threads begin, and Comity's own.
bool is_base_library(const std::string &file) {
    constexpr const char *names[] = {"libc.so", "libc-",     "libpthread", "libstdc++", "ld-linux", "libgcc_s",
                                     "libc++",  "libcomity", "libdl",      "librt",     "libm.so"};
    return std::ranges::any_of(names, [&](const char *name) { return begins_with(file, name); });
}

// Libraries with which a program's threads have to share the cores.
bool is_parallel(const std::string &file) {
    constexpr const char *starts[] = {"libgomp",           "libomp.",           "libiomp5.",        "libopenblas",
                                      "libscipy_openblas", "libflexiblas",      "libmkl_",          "libblis",
                                      "libarmpl",          "libatlas",          "libsatlas",        "libtatlas",
                                      "libblas",           "libcblas",          "liblapack",        "libtorch",
                                      "libfftw3_threads",  "libfftw3f_threads", "libfftw3l_threads"};
    return std::ranges::any_of(starts, [&](const char *start) { return begins_with(file, start); });
}

// Programs that load libraries which compute in parallel while they run; and programs that make threads, but are mostly
// there to start others, to which what is decided for them applies.
constexpr const char *interpreters[] = {"python", "pypy", "ipython", "jupyter", "Rscript", "julia", "octave"};
constexpr const char *launchers[] = {"mpirun", "mpiexec", "orterun", "prterun", "srun", "perf", "gdb", "ctest"};

bool makes_threads(const elf_symbols &symbols) {
    constexpr const char *cpp_thread =
        "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE";
    return std::ranges::any_of(std::initializer_list<const char *>{"pthread_create", cpp_thread, "thrd_create"},
                               [&](const char *name) { return symbols.imported.contains(name); });
}
// Who places his threads himself has kernel threads in mind.
bool binds_threads(const elf_symbols &symbols) {
    return symbols.imported.contains("pthread_setaffinity_np") || symbols.imported.contains("sched_setaffinity");
}
bool makes_threads(const library &lib) {
    return !is_base_library(file_name(lib.name)) && makes_threads(read_elf_symbols(lib.path));
}

// Not a runtime, but code that uses one or makes threads by itself.
std::optional<runtime> recognise_user(const candidate &c) {
    if (c.uses_llvm_openmp()) return make("OpenMP code compiled by clang or Intel", verdict::served, by_llvm_drop_in);
    if (c.uses_gcc_openmp()) return make("OpenMP code compiled by gcc", verdict::served, by_drop_in);
    if (makes_threads(c.symbols)) return make("can make threads of its own", verdict::adopted, own_pool);
    return {};
}

std::optional<runtime> recognise(const candidate &c) {
    for (const auto look : {recognise_openmp, recognise_openblas, recognise_mkl, recognise_others, recognise_user})
        if (auto found = look(c)) return found;
    return {};
}

} // namespace

const char *whose_threads(bool served) {
    return served ? "threads of the program's own run on Comity's harts (`comity run --no-posix`: are the kernel's)"
                  : "threads of the program's own are the kernel's (`comity run --posix`: run on the harts)";
}

bool is_known_by_others(const std::string &program) {
    const std::string name = file_name(program);
    const auto begins_so = [&](const char *start) { return begins_with(name, start); };
    return name == "R" || std::ranges::any_of(interpreters, begins_so) || std::ranges::any_of(launchers, begins_so);
}

bool serves_threads(const std::string &program, const std::vector<library> &libraries) {
    if (is_known_by_others(program)) return true;
    if (const elf_symbols symbols = read_elf_symbols(program); binds_threads(symbols) && makes_threads(symbols))
        return false;
    for (const library &lib : libraries) {
        if (is_base_library(file_name(lib.name))) continue;
        const auto head = read_elf_head(lib.path);
        if (head && std::ranges::any_of(head->needed, is_parallel)) return true;
    }
    return std::ranges::none_of(libraries, [](const library &lib) { return makes_threads(lib); });
}

bool serves_threads(const std::string &program) {
    return is_known_by_others(program) || serves_threads(program, find_libraries(program));
}

std::vector<runtime> find_runtimes(const std::vector<library> &libraries, bool serves_threads) {
    std::vector<runtime> runtimes;
    for (const library &lib : libraries) {
        const std::string shown = lib.name.find('/') != std::string::npos || lib.path.empty() ? lib.name : lib.path;
        const std::string file = file_name(shown);
        if (is_base_library(file)) continue;
        const auto head = read_elf_head(lib.path);
        if (!head || !head->is_native) continue;
        const elf_symbols symbols = read_elf_symbols(lib.path);
        const candidate c{file, symbols, *head};
        const bool is_openmp = c.exports("GOMP_parallel") || c.exports("__kmpc_fork_call");
        if (c.exports("comity_version") || (is_openmp && c.needs("libcomity_openmp.so"))) continue; // Comity's own
        if (auto found = recognise(c)) {
            found->path = shown;
            if (found->what == verdict::adopted && serves_threads) {
                found->what = verdict::served;
                found->explanation = own_pool_served;
            }
            runtimes.push_back(std::move(*found));
        }
    }
    return runtimes;
}

std::string verdict_name(verdict what) {
    switch (what) {
    case verdict::served:
        return "served";
    case verdict::adopted:
        return "adopted";
    case verdict::alone:
        return "left-alone";
    }
    return {};
}

bool has_library(const std::vector<library> &libraries, const char *start) {
    return std::any_of(libraries.begin(), libraries.end(),
                       [=](const library &lib) { return begins_with(file_name(lib.name), start); });
}

} // namespace comity::cli
