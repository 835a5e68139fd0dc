// A heartbeat that sleeps between its beats, a thread that waits for an answer, but not for ever, and a timer.
#include <comity/sync.hpp>
#include <comity/sync/timer.hpp>
#include <comity/thread.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>

using namespace std::chrono_literals;

int main() {
    const comity::threads scope;
    comity::event answer, stop;
    std::atomic<int> beats{0};

    comity::thread heart([&] {
        auto next = std::chrono::steady_clock::now();
        do {
            ++beats;
            next += 5ms;
        } while (!stop.wait_until(next));
    });
    comity::thread asks([&] {
        int tries = 1;
        while (!answer.wait_for(10ms)) ++tries;
        std::printf("an answer at try %d\n", tries);
    });
    std::atomic<int> ticks{0};
    comity::timer ticker([&]() noexcept { ++ticks; });
    ticker.start_every(1ms);
    comity::this_thread::sleep_for(35ms); // the hart does other things meanwhile
    answer.set();
    asks.join();
    ticker.stop();
    std::printf("%s\n", ticks > 1 ? "the timer has called" : "only once");
    stop.set();
    heart.join();
    std::printf("%s\n", beats > 1 ? "the heart has beaten" : "only once");
    return beats > 1 ? 0 : 1;
}
