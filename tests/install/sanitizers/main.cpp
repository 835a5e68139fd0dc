// Threads that lock, yield and throw. With an argument: two that write the same word without a lock, on two harts.
#include <comity/sync.hpp>
#include <comity/thread.hpp>

#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <vector>

static int word = 0;

static int race() {
    std::atomic<int> here{0};
    const auto write = [&here] {
        here.fetch_add(1, std::memory_order_relaxed);
        while (here.load(std::memory_order_relaxed) < 2) {
        }
        ++word;
    };
    comity::thread a(write), b(write);
    a.join();
    b.join();
    return 0;
}

int main(int argc, char **) {
    if (argc > 1) return race();
    constexpr int threads = 500;
    comity::mutex mutex;
    int caught = 0;
    std::vector<comity::thread> all;
    for (int i = 0; i < threads; ++i)
        all.emplace_back([&, i] {
            try {
                comity::this_thread::yield();
                throw std::runtime_error("thrown");
            } catch (const std::runtime_error &) {
                mutex.lock();
                caught += std::vector<int>(100, i)[50] == i;
                mutex.unlock();
            }
        });
    for (auto &t : all) t.join();
    std::printf("caught %d\n", caught);
    return caught == threads ? 0 : 1;
}
