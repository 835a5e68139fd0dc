// A thread that waits for an event, whose hart has gone to sleep; the other hart sets it.
#include "../support/library/comity.hpp"
#include "wake.hpp"

namespace {

using namespace bench::library;

struct shared {
    bench::waking::meeting m;
    int wakes = 0;
    event events[2];
};

void waiter_main(void *p) {
    auto &s = *static_cast<shared *>(p);
    bench::waking::sleeper(s.m, s.wakes, [&s](int round) {
        s.events[round % 2].wait();
        s.events[round % 2].reset();
    });
}

} // namespace

int main(int argc, char **argv) {
    bench::arguments options(argc, argv);
    choose_technique(options);
    const int wakes = bench::waking::read_wakes(options);
    options.finish();
    std::vector<double> taken;
    in_workers(2, [&] {
        shared s;
        s.wakes = wakes;
        threads::handle waiter;
        threads::create<waiter_main>(waiter, &s);
        taken = bench::waking::signaller(s.m, wakes, [&s](int round) { s.events[round % 2].set(); });
        threads::join(waiter);
    });
    return bench::waking::report(name, std::move(taken));
}
