// Two kernel threads and a bare futex.
#include "wake.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

std::atomic<int> word{0};

void wait_for(int round) {
    for (int seen = word; seen != round; seen = word) syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, nullptr);
}
void signal_round(int round) {
    word = round;
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1);
}

} // namespace

int main(int argc, char **argv) {
    using namespace bench::waking;
    bench::arguments options(argc, argv);
    const int wakes = read_wakes(options);
    options.finish();
    meeting m;
    std::thread waiter([&] { sleeper(m, wakes, wait_for); });
    std::vector<double> taken = signaller(m, wakes, signal_round);
    waiter.join();
    return report("pthread", std::move(taken));
}
