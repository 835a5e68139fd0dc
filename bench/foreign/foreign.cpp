// Threads that the OpenMP runtime did not make: six std::threads open regions of eight at the same time, while one more
// thread samples how many kernel threads of the process are runnable. More than the cores means that they fight for
// them.
//   foreign [--threads T] [--width W] [--cycles C] [--rate R] [--seconds S]
#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "../support/arguments.hpp"
#include "../support/audit.hpp"
#include "../support/process.hpp"
#include "../support/work.hpp"

namespace {

// 'R' in the state field, the first after the closing parenthesis of the name (which may hold spaces and parentheses
// itself).
bool is_runnable(const char *id) {
    const std::string path = std::string("/proc/self/task/") + id + "/stat";
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return false; // it ended meanwhile
    char text[512];
    const ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0) return false;
    text[length] = '\0';
    const char *name_end = std::strrchr(text, ')');
    return name_end != nullptr && name_end[1] == ' ' && name_end[2] == 'R';
}

struct runnable_samples {
    double sum = 0;
    int highest = 0;
    int count = 0;
    int most_threads = 0;
};

// One look at all threads but the caller.
void sample(runnable_samples &into) {
    const std::string self = std::to_string(syscall(SYS_gettid));
    DIR *tasks = opendir("/proc/self/task");
    bench::demand(tasks != nullptr, "/proc/self/task cannot be read");
    int runnable = 0, threads = 0;
    while (const dirent *entry = readdir(tasks)) {
        if (entry->d_name[0] == '.' || self == entry->d_name) continue;
        ++threads;
        runnable += is_runnable(entry->d_name) ? 1 : 0;
    }
    closedir(tasks);
    into.sum += runnable;
    into.highest = std::max(into.highest, runnable);
    into.most_threads = std::max(into.most_threads, threads);
    ++into.count;
}

struct options_read {
    int threads, width;
    std::uint64_t iterations;
    double seconds;
};

// Opens regions until told to stop; every region's bodies are counted. Returns how many regions it opened.
long open_regions(const options_read &given, const std::atomic<bool> &stop) {
    long regions = 0;
    std::atomic<long> bodies{0};
    while (!stop.load(std::memory_order_relaxed)) {
#pragma omp parallel num_threads(given.width)
        {
            bench::spin_iterations(given.iterations);
            bodies.fetch_add(1, std::memory_order_relaxed);
        }
        ++regions;
    }
    bench::demand(bodies.load() == regions * given.width, "a region of a foreign thread lost or repeated a body");
    bench::demand_distinct_threads(given.width);
    return regions;
}

options_read read_options(int argc, char **argv) {
    bench::arguments options(argc, argv);
    options_read read{};
    read.threads = options.whole("threads", 6, 1, 256);
    read.width = options.whole("width", 8, 2, 256);
    const double cycles = options.number("cycles", 20000, 0, 1e12);
    const double given_rate = options.number("rate", 0, 0, 1000);
    read.seconds = options.number("seconds", 2, 0.1, 600);
    options.finish();
    read.iterations = static_cast<std::uint64_t>(cycles * (given_rate > 0 ? given_rate : bench::calibrate_rate()));
    return read;
}

} // namespace

int main(int argc, char **argv) {
    using namespace std::chrono_literals;
    const options_read given = read_options(argc, argv);
    std::atomic<bool> stop{false};
    std::vector<long> regions(static_cast<std::size_t>(given.threads));
    std::vector<std::thread> threads;
    const double begin = bench::wall_seconds();
    for (long &count : regions) threads.emplace_back([&] { count = open_regions(given, stop); });

    std::this_thread::sleep_for(200ms); // the pools are being made; what follows is the steady state
    runnable_samples samples;
    while (bench::wall_seconds() - begin < given.seconds) {
        sample(samples);
        std::this_thread::sleep_for(2ms);
    }
    stop = true;
    for (std::thread &thread : threads) thread.join();
    const double taken = bench::wall_seconds() - begin;

    long total = 0;
    for (const long count : regions) {
        bench::demand(count > 0, "a foreign thread never finished a region");
        total += count;
    }
    std::printf(
        "{\"program\":\"foreign\",\"runnable_mean\":%.4f,\"runnable_high\":%d,\"samples\":%d,\"kernel_threads\":%d,"
        "\"us\":%.4f,\"regions\":%ld,\"context_switches\":%ld,\"runtime\":\"%s\",\"verified\":true}\n",
        samples.sum / samples.count, samples.highest, samples.count, samples.most_threads,
        1e6 * taken / static_cast<double>(total), total, bench::context_switches(), bench::runtime_path().c_str());
}
