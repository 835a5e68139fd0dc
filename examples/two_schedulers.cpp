// A thread under another scheduler than its creator's: requests are served by priority, the work for one of them by
// work stealing below; what turns out to be urgent there goes to the scheduler of the requests.
#include <comity/scheduler.hpp>
#include <comity/thread.hpp>

#include <atomic>
#include <cstdio>
#include <vector>

int main() {
    const comity::scheduled_threads requests(comity::scheduler_kind::priority);
    comity_scheduler_t *const by_priority = comity_scheduler_self();
    std::atomic<int> done{0};
    std::atomic<bool> alarm_was_there{false};

    comity::thread request({.priority = 10}, [&] {
        comity::thread alarm;
        {
            const comity::threads parallel_part; // opened here, so below the scheduler of the requests
            std::vector<comity::thread> pieces;
            for (int i = 0; i < 100; ++i) pieces.emplace_back([&] { ++done; });
            alarm = comity::thread({.priority = 200, .under = by_priority},
                                   [&] { alarm_was_there = comity_scheduler_self() == by_priority; });
            pieces.clear(); // joins them
        }                   // the alarm may outlive this part: it is not one of its threads
        alarm.join();
    });
    request.join();
    std::printf("%d pieces; the alarm ran among the requests: %s\n", done.load(), alarm_was_there ? "yes" : "no");
    return done == 100 && alarm_was_there ? 0 : 1;
}
