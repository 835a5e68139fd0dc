// An allocator that charges all that is allocated, for Comity itself, too: it must not stop the hart in the middle of
// something.
#include "kinds.hpp"

#include "comity/sync.hpp"

#include <cstdlib>
#include <new>
#include <vector>

namespace {
bool charges = false; // there is one hart

void *allocate(std::size_t bytes, std::size_t alignment) noexcept {
    if (charges) comity_scheduler_charge(bytes);
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
} // namespace

void *operator new(std::size_t bytes, const std::nothrow_t &) noexcept { return allocate(bytes, 16); }
void *operator new(std::size_t bytes, std::align_val_t to, const std::nothrow_t &) noexcept {
    return allocate(bytes, static_cast<std::size_t>(to));
}

TEST(charging, does_not_upset_the_creation_of_threads) {
    comity_scheduler_attr_t a{};
    a.kind = COMITY_SCHEDULER_SPACE_EFFICIENT;
    a.quota = 1;
    ASSERT_EQ(comity_threads_begin_with(&a), 0);
    int ended = 0;
    {
        std::vector<comity::event> go(1000);
        std::vector<comity::thread> threads;
        charges = true;
        for (comity::event &e : go)
            threads.emplace_back([&e, &ended] {
                e.wait();
                ++ended;
            });
        for (comity::event &e : go) e.set();
        for (comity::thread &t : threads) t.join();
        charges = false;
    }
    comity_threads_end();
    EXPECT_EQ(ended, 1000);
}
