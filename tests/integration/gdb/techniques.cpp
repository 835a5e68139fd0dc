// A thread of each technique that can wait is parked below a function of a telling name; then the program stops for the
// debugger, in one of the technique that cannot.
#include "comity/sync.hpp"
#include "comity/thread.h"

#include <atomic>
#include <string>

namespace {
comity::event never;
std::atomic<int> arrived{0};

__attribute__((noinline)) void parked_below_here(void *p) {
    ++arrived;
    never.wait();
    asm volatile("" ::"r"(p));
}

void *body(void *p) {
    comity_thread_set_name(comity_thread_self(), static_cast<const char *>(p));
    parked_below_here(p);
    return p;
}

void *stop_here(void *p) {
    comity_thread_set_name(comity_thread_self(), "named-stackless");
    __builtin_trap();
    return p;
}
} // namespace

int main() {
    static std::string names[] = {
        "named-full", "named-full_l", "named-roc",      "named-roc_l", "named-ss",      "named-ss_l",     "named-sc",
        "",           "named-c_full", "named-c_full_e", "named-c_roc", "named-c_roc_e", "named-automatic"};
    comity_threads_begin();
    int made = 0;
    for (int i = 0; i < 13; ++i) {
        comity_thread_attr_t attr{};
        attr.technique = static_cast<comity_technique_t>(i + 1);
        comity_thread_t *t = nullptr;
        if (attr.technique != COMITY_TECHNIQUE_STACKLESS)
            made += comity_thread_create(&t, &attr, body, names[i].data()) == 0;
    }
    while (arrived != made) comity_thread_yield();
    comity_thread_sleep_for(50'000'000); // all of them are parked by then
    comity_thread_attr_t attr{};
    attr.technique = COMITY_TECHNIQUE_STACKLESS;
    comity_thread_t *t = nullptr;
    return comity_thread_create(&t, &attr, stop_here, nullptr) || comity_thread_join(t, nullptr);
}
