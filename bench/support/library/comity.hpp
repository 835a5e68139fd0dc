// How the benchmarks use Comity: README.md says what the words are.
#pragma once

#include "comity/fork.hpp"
#include "comity/sync.h"
#include "comity/thread.h"
#include "comity/thread.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "../arguments.hpp"
#include "../demand.hpp"

namespace bench::library {

inline constexpr const char *name = "comity";

struct named_technique {
    const char *name;
    comity_technique_t technique;
    bool can_yield = true; // false: its threads run to completion
};

// Every technique there is, the default one first.
inline constexpr named_technique techniques[] = {
    {"roc_l", COMITY_TECHNIQUE_ROC_L},
    {"full", COMITY_TECHNIQUE_FULL},
    {"full_l", COMITY_TECHNIQUE_FULL_L},
    {"roc", COMITY_TECHNIQUE_ROC},
    {"ss", COMITY_TECHNIQUE_SS},
    {"ss_l", COMITY_TECHNIQUE_SS_L},
    {"sc", COMITY_TECHNIQUE_SC},
    {"stackless", COMITY_TECHNIQUE_STACKLESS, false},
    {"c_full", COMITY_TECHNIQUE_C_FULL},
    {"c_full_e", COMITY_TECHNIQUE_C_FULL_E},
    {"c_roc", COMITY_TECHNIQUE_C_ROC},
    {"c_roc_e", COMITY_TECHNIQUE_C_ROC_E},
    {"automatic", COMITY_TECHNIQUE_AUTOMATIC},
};

inline comity_thread_attr_t attributes{techniques[0].technique, 0, 0, 0}; // of the threads that `threads` makes
inline named_technique chosen = techniques[0];

// Reads --technique; `list` prints the names, for the harness.
inline void choose_technique(arguments &options) {
    std::vector<std::string> names;
    std::string all;
    for (const named_technique &one : techniques) {
        names.emplace_back(one.name);
        all.append(all.empty() ? "" : " ").append(one.name);
    }
    names.emplace_back("list");
    const std::string wanted = options.word("technique", techniques[0].name, names);
    if (wanted == "list") {
        std::printf("{\"library\":\"comity\",\"techniques\":\"%s\"}\n", all.c_str());
        std::exit(0);
    }
    for (const named_technique &one : techniques)
        if (one.name == wanted) chosen = one;
    attributes.technique = chosen.technique;
}

struct threads {
    using handle = comity_thread_t *;
    template <void (*body)(void *)> static void create(handle &thread, void *argument) {
        auto run = [](void *p) -> void * {
            body(p);
            return nullptr;
        };
        if (comity_thread_create(&thread, &attributes, run, argument) != 0) refuse("no thread could be made");
    }
    static void join(handle thread) { comity_thread_join(thread, nullptr); }
    static void yield() { comity_thread_yield(); }
};

// Reads --pair.
inline bool choose_pairs(arguments &options) { return options.whole("pair", 0, 0, 1) != 0; }

// Runs f in a thread, which may go on on any of `workers` harts, as the threads of the peers may.
inline constexpr auto in_workers = [](int workers, auto f) {
    setenv("COMITY_HARTS", std::to_string(workers).c_str(), 1); // before the first use: it is read once
    const comity::threads scope;
    const comity_thread_attr_t full{COMITY_TECHNIQUE_FULL, 0, 0,
                                    0}; // not smaller than its threads', or it could not lend its stack
    comity_thread_t *thread = nullptr;
    auto call = [](void *p) -> void * {
        (*static_cast<decltype(f) *>(p))();
        return nullptr;
    };
    demand(comity_thread_create(&thread, &full, call, &f) == 0, "no thread could be made");
    demand(comity_thread_join(thread, nullptr) == 0, "a thread could not be joined");
};

class mutex {
public:
    void lock() { comity_mutex_lock(&mutex_); }
    void unlock() { comity_mutex_unlock(&mutex_); }

private:
    friend class condition;
    comity_mutex_t mutex_ = COMITY_MUTEX_INIT;
};

class condition {
public:
    void wait(mutex &locked) { comity_condition_wait(&condition_, &locked.mutex_); }
    void signal() { comity_condition_signal(&condition_); }

private:
    comity_condition_t condition_ = COMITY_CONDITION_INIT;
};

class barrier {
public:
    explicit barrier(int count) {
        demand(comity_barrier_init(&barrier_, static_cast<unsigned>(count)) == 0, "no barrier");
    }
    void wait() { comity_barrier_wait(&barrier_); }

private:
    comity_barrier_t barrier_{};
};

class semaphore {
public:
    void acquire() { comity_semaphore_wait(&semaphore_); }
    void release() { comity_semaphore_post(&semaphore_); }

private:
    comity_semaphore_t semaphore_ = COMITY_SEMAPHORE_INIT;
};

class event {
public:
    void wait() { comity_event_wait(&event_); }
    void set() { comity_event_set(&event_); }
    void reset() { comity_event_reset(&event_); }

private:
    comity_event_t event_ = COMITY_EVENT_INIT;
};

} // namespace bench::library
