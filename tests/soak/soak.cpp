// Creations and joins without end, of every kind: the process must not grow. Prints a line a tenth, and at the end one
// of JSON; exits with 1 if something grew.
//   thread_soak [COUNT]      100,000,000 if none is given
// Allowed are 8 MiB, that is 0.08 bytes a thread, or 1 MiB for each hart: what harts keep depends on how they share the
// work.
#include "comity/sync.hpp"
#include "comity/thread.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <vector>

namespace {

constexpr std::size_t at_once = 1000;
constexpr std::uint64_t rounds_of_a_cycle = 100; // each kind has its share of them

struct state {
    long resident_kib = 0, address_space_kib = 0, page_tables_kib = 0, mappings = 0, kernel_threads = 0;
};

state now() {
    state s;
    if (std::FILE *f = std::fopen("/proc/self/status", "r")) {
        char line[256];
        while (std::fgets(line, sizeof line, f)) {
            std::sscanf(line, "VmRSS: %ld", &s.resident_kib);
            std::sscanf(line, "VmSize: %ld", &s.address_space_kib);
            std::sscanf(line, "VmPTE: %ld", &s.page_tables_kib);
            std::sscanf(line, "Threads: %ld", &s.kernel_threads);
        }
        std::fclose(f);
    }
    if (std::FILE *f = std::fopen("/proc/self/maps", "r")) {
        for (int c = 0; (c = std::getc(f)) != EOF;) s.mappings += c == '\n';
        std::fclose(f);
    }
    return s;
}

[[noreturn]] void fail(const char *why) {
    std::fprintf(stderr, "soak: %s\n", why);
    std::exit(1);
}

bool has_grown(const char *what, long first, long last, long by) {
    if (last <= first + by) return false;
    std::fprintf(stderr, "soak: %s: %ld at first, %ld at last\n", what, first, last);
    return true;
}

comity::event *gate = nullptr;
std::atomic<std::size_t> at_gate{0}, ended{0};

void *returns(void *p) { return p; }
void *yields(void *p) {
    comity_thread_yield();
    return p;
}
void *exits(void *p) { comity_thread_exit(p); }
void *counts(void *) {
    ended.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
}
void *waits(void *p) {
    at_gate.fetch_add(1, std::memory_order_relaxed);
    gate->wait();
    return p;
}

std::vector<comity_thread_t *> handles(at_once);

comity_thread_t *create(const comity_thread_attr_t &attr, void *(*fn)(void *), void *argument) {
    comity_thread_t *t = nullptr;
    if (comity_thread_create(&t, &attr, fn, argument) != 0) fail("a thread could not be created");
    return t;
}

void join_all(bool reverse) {
    if (reverse) std::reverse(handles.begin(), handles.end());
    for (comity_thread_t *t : handles) {
        void *result = nullptr;
        if (comity_thread_join(t, &result) != 0 || result != &handles) fail("a join failed, or gave a wrong result");
    }
}

void make_and_join(const comity_thread_attr_t &attr, void *(*fn)(void *), bool reverse) {
    for (comity_thread_t *&t : handles) t = create(attr, fn, &handles);
    join_all(reverse);
}

// All but stackless, which cannot wait.
comity_technique_t technique_of(std::uint64_t n) {
    constexpr comity_technique_t all[] = {COMITY_TECHNIQUE_ROC_L, COMITY_TECHNIQUE_FULL,   COMITY_TECHNIQUE_FULL_L,
                                          COMITY_TECHNIQUE_ROC,   COMITY_TECHNIQUE_SS,     COMITY_TECHNIQUE_SS_L,
                                          COMITY_TECHNIQUE_SC,    COMITY_TECHNIQUE_C_FULL, COMITY_TECHNIQUE_C_FULL_E,
                                          COMITY_TECHNIQUE_C_ROC, COMITY_TECHNIQUE_C_ROC_E};
    return all[n % std::size(all)];
}

void sizes(std::uint64_t round) {
    for (std::size_t i = 0; i < at_once; ++i) {
        const std::size_t size = std::size_t{2048} << ((round + i) % 12); // up to 4 MiB
        const comity_technique_t technique = technique_of(round + i);
        handles[i] = create({technique, size - i % 3, 0, 0}, i % 5 ? yields : returns, &handles);
    }
    join_all(round % 2);
}

void parked(std::size_t size, bool reverse) {
    comity::event own;
    gate = &own;
    at_gate = 0;
    for (comity_thread_t *&t : handles) t = create({COMITY_TECHNIQUE_ROC_L, size, 0, 0}, waits, &handles);
    while (at_gate != at_once) comity_thread_yield();
    own.set();
    join_all(reverse);
}

void detached() {
    ended = 0;
    const comity_thread_attr_t attr{COMITY_TECHNIQUE_ROC_L, 0, 0, 1};
    for (std::size_t i = 0; i < at_once; ++i)
        if (comity_thread_create(nullptr, &attr, counts, nullptr) != 0) fail("a thread could not be created");
    while (ended != at_once) comity_thread_yield();
}

// As many threads of each size at the same time as there will ever be: how many there are later depends on the harts.
void warm_up() {
    for (std::size_t size = 2048; size <= std::size_t{4} << 20; size *= 2) parked(size, false);
    parked(0, false);
}

// Most rounds are the plain ones: they make the number; the others have their turn in every hundred.
void one_round(std::uint64_t round) {
    switch (round % rounds_of_a_cycle) {
    case 0:
        return sizes(round / rounds_of_a_cycle);
    case 1:
        return parked(round % 3 == 0 ? 2048 : round % 3 == 1 ? 16384 : 0, round % 2);
    case 2:
    case 3:
        return detached();
    case 4:
        return make_and_join({COMITY_TECHNIQUE_ROC_L, 2048, 0, 0}, returns, false);
    case 5:
        return make_and_join({COMITY_TECHNIQUE_ROC_L, 0, 0, 0}, exits, true);
    case 6:
    case 7:
        return make_and_join({COMITY_TECHNIQUE_ROC_L, 0, 0, 0}, yields, round % 2);
    case 8:
    case 9:
        return make_and_join({technique_of(round / rounds_of_a_cycle), 0, 0, 0}, yields, round % 2);
    default:
        return make_and_join({technique_of(round), 0, 0, 0}, returns, round % 4 < 2);
    }
}

} // namespace

int main(int argc, char **argv) {
    const std::uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100'000'000;
    const std::uint64_t rounds = std::max(count / at_once, 3 * rounds_of_a_cycle);
    const auto from = std::chrono::steady_clock::now();
    if (comity_threads_begin() != 0) fail("no memory for a scheduler");
    warm_up();
    state first, last, most;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        one_round(round);
        // Each kind has been there twice: from here on nothing is new.
        if (round + 1 == 2 * rounds_of_a_cycle) first = most = now();
        if ((round + 1) % std::max(rounds / 10, std::uint64_t{1}) != 0) continue;
        last = now();
        most.resident_kib = std::max(most.resident_kib, last.resident_kib);
        std::printf("%12llu creations and joins: %ld KiB resident, %ld KiB of page tables, %ld mappings\n",
                    static_cast<unsigned long long>((round + 1) * at_once), last.resident_kib, last.page_tables_kib,
                    last.mappings);
        std::fflush(stdout);
    }
    comity_threads_end();
    last = now();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
    const bool growth[] = {
        has_grown("KiB resident", first.resident_kib, last.resident_kib, 1024L * std::max(8, comity_hart_count())),
        has_grown("KiB of address space", first.address_space_kib, last.address_space_kib,
                  first.address_space_kib / 2), // a slab more of large stacks
        has_grown("mappings", first.mappings, last.mappings, 200),
        // main, a worker for each hart, the one for deadlines, and the one that frees what is spare
        has_grown("kernel threads", comity_hart_count() + 3, last.kernel_threads, 0)};
    const bool grew = std::ranges::count(growth, true) != 0;
    std::printf("{\"soak\":\"threads\",\"creations\":%llu,\"seconds\":%.1f,\"resident_kib_at_first\":%ld,"
                "\"resident_kib_at_most\":%ld,\"resident_kib_at_last\":%ld,\"mappings_at_first\":%ld,"
                "\"mappings_at_last\":%ld,\"kernel_threads\":%ld,\"grew\":%s}\n",
                static_cast<unsigned long long>(rounds * at_once), seconds, first.resident_kib, most.resident_kib,
                last.resident_kib, first.mappings, last.mappings, last.kernel_threads, grew ? "true" : "false");
    return grew;
}
