// An OpenBLAS of this process that runs its jobs on Comity: how it is recognised, told, and served. README.md.
#pragma once

#include "personality/blas/loaded_library.hpp"
#include "personality/blas/thread_count.hpp"
#include "personality/blas/thread_numbers.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace comity::blas {

class openblas {
public:
    // The library that contains `caller` is about to make a thread with this argument. If it is an OpenBLAS with a
    // threads callback, it is served from now on. Called by pthread_create: any thread, also before constructors have
    // run and with locks of OpenBLAS held.
    static void thread_is_made(const void *caller, const void *argument) noexcept;
    // Is the address in a library that is an OpenBLAS, of whatever kind? Any thread; never switches.
    static bool contains(const void *address) noexcept;
    // Is the address in an OpenBLAS that has a threads callback?
    static bool can_serve(const void *address) noexcept;

private:
    using job = void (*)(int thread_number, void *queue, int data);
    using callback = void (*)(int sync, job run, int jobs, std::size_t size, void *queue, int data);
    struct call;

    static openblas *at(const void *address) noexcept;
    static openblas *adopt(const loaded_library &found) noexcept;
    bool find_symbols() noexcept;
    void pool_has(int threads) noexcept;
    void start_serving() noexcept;
    void answer_for_threads() noexcept;
    void stop_serving() noexcept;
    static void serve(int sync, job run, int jobs, std::size_t size, void *queue, int data);
    void run_jobs(job run, unsigned jobs, std::size_t size, void *queue, int data) noexcept;
    static std::int64_t work_of(const call &c, unsigned ranks, std::int64_t wall) noexcept;
    static std::int64_t running_ns(const call &c) noexcept;
    static void run_rank(void *argument, unsigned rank);
    static void start_extra(const call &c, unsigned from, unsigned to, std::atomic<unsigned> &left) noexcept;
    static void *run_on_kernel_thread(void *argument);
    // For the library with this number.
    template <unsigned I> static void before_fork();
    template <unsigned I> static void parent_after_fork();
    template <unsigned I> static void child_after_fork();
    template <std::size_t... I> bool watch_forks(std::index_sequence<I...>) noexcept;
    // In the place of its own functions of these names.
    template <unsigned I> static int get_num_threads();
    template <unsigned I> static void set_num_threads(int threads);

    loaded_library library_;
    void (*set_callback_)(callback) = nullptr;
    int *threads_ = nullptr;          // blas_num_threads: how many threads its pool has, and one for the caller
    int *threads_of_calls_ = nullptr; // blas_cpu_number
    const char *(*config_)() = nullptr;
    void (*set_threads_)(int) = nullptr; // its own openblas_set_num_threads, since ours may be in its place
    int table_ = 0;                      // how many thread numbers it has
    int pool_ = 0;                       // the numbers [0, pool_) are its own; written under its lock
    std::atomic<bool> served_{false};
    std::atomic<std::int64_t> wall_{0}; // how long the last parallel call took
    thread_numbers numbers_;
    thread_count count_;
};

} // namespace comity::blas
