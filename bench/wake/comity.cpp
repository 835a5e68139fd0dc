// A thread that waits for an event, whose hart has gone to sleep; the other hart sets it.
#include "../support/library/comity.hpp"
#include "wake.hpp"

int main(int argc, char **argv) {
    using namespace bench::waking;
    using namespace bench::library;
    bench::arguments options(argc, argv);
    choose_technique(options);
    const int wakes = read_wakes(options);
    options.finish();
    std::vector<double> taken;
    in_workers(2, [&] {
        struct shared {
            meeting m;
            int wakes;
            event events[2];
        } s;
        s.wakes = wakes;
        threads::handle waiter;
        threads::create<[](void *p) {
            auto &own = *static_cast<shared *>(p);
            sleeper(own.m, own.wakes, [&](int round) {
                own.events[round % 2].wait();
                own.events[round % 2].reset();
            });
        }>(waiter, &s);
        taken = signaller(s.m, wakes, [&](int round) { s.events[round % 2].set(); });
        threads::join(waiter);
    });
    return report(name, std::move(taken));
}
