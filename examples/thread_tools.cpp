// What threads can do beyond running: names, keys, stop tokens, cancellation that unwinds, suspension, and lives after
// the first one.
#include <comity/thread.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <system_error>

namespace {

void require(bool what, const char *why) {
    if (what) return;
    std::fprintf(stderr, "%s\n", why);
    std::exit(1);
}

comity_key_t scratch; // each thread's own buffer, freed when it ends

void *count_letters(void *text) {
    comity_key_set(scratch, new std::string(static_cast<const char *>(text)));
    comity_thread_yield(); // another hart may go on with it: the key's value comes along
    const auto *own = static_cast<std::string *>(comity_key_get(scratch));
    return reinterpret_cast<void *>(own->size());
}

} // namespace

int main() {
    const comity::threads scope;

    comity_key_create(&scratch, [](void *s) { delete static_cast<std::string *>(s); });
    comity_thread_t *t = nullptr;
    static char first[] = "seven", second[] = "eleven";
    require(comity_thread_create(&t, nullptr, count_letters, first) == 0, "no thread");
    void *letters = nullptr;
    comity_thread_wait(t, &letters); // kept
    std::printf("%s has %zu letters\n", first, reinterpret_cast<std::size_t>(letters));
    require(comity_thread_revive(t, count_letters, second) == 0, "no second life");
    comity_thread_join(t, &letters);
    std::printf("%s has %zu letters\n", second, reinterpret_cast<std::size_t>(letters));

    std::atomic<int> rounds{0};
    {
        comity::jthread ticks({.name = "ticks"}, [&rounds](const std::stop_token &stop) {
            while (!stop.stop_requested()) {
                ++rounds;
                comity::this_thread::yield();
            }
        });
        while (rounds < 3) comity::this_thread::yield();
    } // asked to stop, and joined
    std::printf("it ticked %s\n", rounds >= 3 ? "at least three times" : "too seldom");

    comity::basic_thread<comity::technique::sc> waits({.name = "waits"}, [] {
        const std::string freed_on_the_way(100, 'x');
        comity::this_thread::suspend();
    });
    while (comity_thread_state(waits.native_handle()) != COMITY_THREAD_SUSPENDED) comity::this_thread::yield();
    waits.cancel();
    try {
        waits.join();
        require(false, "it was not cancelled");
    } catch (const std::system_error &e) {
        std::printf("cancelled: %s\n", e.code().message().c_str());
    }
    comity_key_delete(scratch);
}
