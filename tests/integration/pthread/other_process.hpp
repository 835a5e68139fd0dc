// What the threads of another process do, by /proc, and how to wait for it.
#pragma once

#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include <sys/types.h>

// Linux' letter for what a thread of another process does.
inline char state_of_thread(const std::string &folder) {
    std::ifstream file(folder + "/stat");
    const std::string line(std::istreambuf_iterator<char>(file), {});
    const auto end = line.rfind(')'); // of the name
    return end == std::string::npos || end + 2 >= line.size() ? 'X' : line[end + 2];
}

// No thread runs, or would if it had a processor.
inline bool is_asleep(pid_t process) {
    std::error_code gone;
    for (const auto &thread : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task", gone))
        if (state_of_thread(thread.path()) == 'R') return false;
    return true;
}

inline std::chrono::nanoseconds cpu_time_of(pid_t process) {
    clockid_t clock;
    timespec t{};
    if (clock_getcpuclockid(process, &clock) == 0) clock_gettime(clock, &t);
    return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

inline void nap(std::chrono::milliseconds t) {
    using namespace std::chrono_literals;
    const timespec by = {t / 1s, std::chrono::nanoseconds(t % 1s).count()};
    nanosleep(&by, nullptr);
}

template <class Condition> bool comes_true(const Condition &c, std::chrono::steady_clock::time_point by) {
    while (!c()) {
        if (std::chrono::steady_clock::now() > by) return false;
        nap(std::chrono::milliseconds(1));
    }
    return true;
}

// For all that one step of a test waits for together: what does not come at all costs it once.
inline std::chrono::steady_clock::time_point in_a_minute() {
    return std::chrono::steady_clock::now() + std::chrono::minutes(1);
}
