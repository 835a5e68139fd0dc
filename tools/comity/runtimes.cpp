#include "runtimes.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "elf_file.hpp"
#include "personality/pthread/served_programs.hpp"

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

bool some_symbol(const std::unordered_set<std::string> &symbols, bool (*is_such)(const char *)) {
    return std::ranges::any_of(symbols, [=](const std::string &s) { return is_such(s.c_str()); });
}

// What the loader would load with the program.
struct files {
    const std::string &program;
    const std::vector<library> &libraries;

    template <class Is> bool some(Is is_such) const {
        return std::ranges::any_of(
            libraries, [&](const library &l) { return !posix::is_base_library(file_name(l.name)) && is_such(l.path); });
    }
    bool program_imports(bool (*is_such)(const char *)) const {
        return some_symbol(elf_symbols_of(program).imported, is_such);
    }
    bool some_needs(bool (*is_such)(const char *)) const {
        return some([=](const std::string &path) {
            const auto head = read_elf_head(path);
            return head && std::ranges::any_of(head->needed, [=](auto &name) { return is_such(name.c_str()); });
        });
    }
    bool some_imports(bool (*is_such)(const char *)) const {
        return some([=](const std::string &path) { return some_symbol(elf_symbols_of(path).imported, is_such); });
    }
};

// Not a runtime, but code that uses one or makes threads by itself.
std::optional<runtime> recognise_user(const candidate &c) {
    if (c.uses_llvm_openmp()) return make("OpenMP code compiled by clang or Intel", verdict::served, by_llvm_drop_in);
    if (c.uses_gcc_openmp()) return make("OpenMP code compiled by gcc", verdict::served, by_drop_in);
    if (some_symbol(c.symbols.imported, posix::makes_threads))
        return make("can make threads of its own", verdict::adopted, own_pool);
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

static const char *runtime_with_own_stacks(const std::string &program) {
    const elf_symbols &symbols = elf_symbols_of(program);
    for (const auto &runtime : posix::runtimes_with_own_stacks)
        if (symbols.exported.contains(runtime.exports)) return runtime.name;
    return nullptr;
}

bool has_own_stacks(const std::string &program) { return runtime_with_own_stacks(program); }

std::string whose_threads(const std::string &program, bool served) {
    if (const char *runtime = runtime_with_own_stacks(program))
        return fmt::format(
            "threads of the program's own are the kernel's, also with `comity run --posix`: {} runtime has "
            "stacks of its own, which signals of Comity's would damage",
            runtime);
    return whose_threads(served);
}

// As the kernel names it to the process: links lead to another name.
static std::string real_name(const std::string &program) {
    std::error_code error;
    const std::filesystem::path real = std::filesystem::canonical(program, error);
    return error ? file_name(program) : real.filename().string();
}

bool is_known_by_others(const std::string &program) { return posix::is_known_by_others(real_name(program)); }

bool serves_threads(const std::string &program, const std::vector<library> &libraries) {
    return posix::serves_threads(real_name(program), files{program, libraries});
}

bool serves_threads(const std::string &program) {
    return is_known_by_others(program) || serves_threads(program, find_libraries(program));
}

std::vector<runtime> find_runtimes(const std::vector<library> &libraries, bool serves_threads) {
    std::vector<runtime> runtimes;
    for (const library &lib : libraries) {
        const std::string shown = lib.name.find('/') != std::string::npos || lib.path.empty() ? lib.name : lib.path;
        const std::string file = file_name(shown);
        if (posix::is_base_library(file)) continue;
        const auto head = read_elf_head(lib.path);
        if (!head || !head->is_native) continue;
        const elf_symbols &symbols = elf_symbols_of(lib.path);
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
