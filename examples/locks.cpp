// A queue for many producers and consumers that ends by a stop token, and a table that many read and few write.
#include <comity/sync.hpp>
#include <comity/thread.hpp>

#include <atomic>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <stop_token>
#include <vector>

int main() {
    const comity::threads scope;
    comity::mutex m;
    comity::condition changed;
    std::deque<int> queue; // under m
    comity::rwlock table_lock;
    std::map<int, int> table; // under table_lock
    std::atomic<int> taken{0};
    std::stop_source stop;

    std::vector<comity::thread> consumers;
    for (int i = 0; i < 4; ++i)
        consumers.emplace_back([&] {
            for (;;) {
                std::unique_lock lock(m);
                if (!changed.wait(lock, stop.get_token(), [&] { return !queue.empty(); })) return;
                const int item = queue.front();
                queue.pop_front();
                lock.unlock();
                const std::lock_guard writing(table_lock);
                ++table[item % 10];
                if (++taken == 1000) stop.request_stop(); // wakes those who wait
            }
        });
    comity::thread producer([&] {
        for (int i = 0; i < 1000; ++i) {
            {
                const std::lock_guard lock(m);
                queue.push_back(i);
            }
            changed.notify_one();
        }
    });
    producer.join();
    for (comity::thread &t : consumers) t.join();

    const std::shared_lock reading(table_lock);
    for (const auto &[digit, count] : table)
        if (count != 100) return 1;
    std::printf("%d items, %zu entries\n", taken.load(), table.size());
    return 0;
}
