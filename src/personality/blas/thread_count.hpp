// blas_cpu_number, the variable of an OpenBLAS that each of its calls reads at its entry: how many jobs the call makes.
// It is one variable for all threads, so it says what *the next call of any thread* shall use, and is rewritten
// whenever that changes. README.md, "How many jobs a call makes".
#pragma once

#include <atomic>

namespace comity::blas {

class thread_count {
public:
    // The variable of a library that is served from now on, whose calls may have at most `most` jobs.
    void start(int *variable, unsigned most) noexcept;
    // Lets `jobs` be the next call's number, or less if the user wants less. One caller at a time.
    void publish(int jobs) noexcept;
    // The user wants so many from now on, which the library has written to its variable: to be published. Any thread.
    void want(int jobs) noexcept { wanted_.store(jobs, std::memory_order_relaxed); }
    // How many the user wants. Any thread.
    int wanted() const noexcept { return wanted_.load(std::memory_order_relaxed); }
    // From now on calls have at most so many jobs. One caller at a time with publish.
    void limit(int jobs) noexcept { most_ = jobs; }
    // Writes the user's own number back; the library is no longer served. One caller at a time with publish.
    void stop() noexcept;

private:
    std::atomic<int> *variable_ = nullptr;
    int most_ = 1;
    int published_ = 0;          // what we wrote last: another value was written by the user
    std::atomic<int> wanted_{0}; // by the user
};

} // namespace comity::blas
