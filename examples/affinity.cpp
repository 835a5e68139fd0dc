// Threads that some harts alone run: each half of an array is filled and summed by threads on the hart that has it in
// its caches; a thread finds out where it may run, and goes elsewhere.
#include <comity/core.hpp>
#include <comity/thread.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <numeric>
#include <span>
#include <vector>

int main() {
    const comity::threads scope;
    const int harts = comity::hart_count();
    std::atomic<int> elsewhere{0};
    std::vector<long> numbers(1 << 16);
    std::array<long, 2> sums{};

    for (const bool fill : {true, false}) {
        std::array<comity::thread, 2> halves;
        for (std::size_t i = 0; i < 2; ++i) {
            const int hart = static_cast<int>(i) % harts;
            halves[i] = comity::thread({.harts{&hart, 1}}, [&, i, hart, fill] { // the list is copied
                const std::span mine = std::span(numbers).subspan(i * numbers.size() / 2, numbers.size() / 2);
                if (fill)
                    std::iota(mine.begin(), mine.end(), 1L);
                else
                    sums[i] = std::accumulate(mine.begin(), mine.end(), 0L);
                comity::this_thread::yield(); // wherever it waits, it goes on there
                if (comity::hart_id() != hart) ++elsewhere;
            });
        }
        for (comity::thread &t : halves) t.join();
    }

    bool right = false;
    const int first = 0; // created with an affinity, it is never run by main's join on main's own stack
    comity::thread traveller({.harts{&first, 1}}, [&] {
        const int last = harts - 1;
        comity::this_thread::set_affinity({&last, 1}); // goes there
        int allowed = -1;
        std::size_t count = 0;
        const int error = comity_thread_affinity(comity_thread_self(), &allowed, 1, &count);
        right = error == 0 && count == 1 && allowed == last && comity::hart_id() == last;
        comity::this_thread::set_affinity({}); // any hart again
    });
    traveller.join();

    std::printf("sums %ld and %ld, %d threads ran elsewhere\n", sums[0], sums[1], elsewhere.load());
    return sums[0] == sums[1] && elsewhere == 0 && right ? 0 : 1;
}
