// On which CPUs streams run: the kernel thread that carries a stream goes there with it.
#include "personality/argobots/check.hpp"
#include "personality/argobots/registry.hpp"
#include "personality/argobots/schedulers.hpp"
#include "personality/argobots/work.hpp"

#include <new>

using namespace comity;
using namespace comity::abt;

namespace {

std::atomic<std::uint64_t> last_id{0};

// As the kernel does it, which Argobots asks: CPUs that the process may not use are left out, but one must be left.
// Programs name CPUs 0 to 15 in order to say anywhere.
int make_set(int n, const int *cpuids, sys::cpu_set &set) {
    for (int i = 0; i < n; ++i) {
        COMITY_CHECK(cpuids[i] >= 0, ABT_ERR_CPUID);
        if (sys::process_cpus().has(cpuids[i])) set.add(cpuids[i]);
    }
    COMITY_CHECK(n == 0 || set.count() != 0, ABT_ERR_CPUID);
    return ABT_SUCCESS;
}

// Null: anywhere.
int set_place(stream *s, const sys::cpu_set *cpus) {
    stream_place *p = nullptr;
    s->lock.lock();
    if (cpus) // one that was used before is used again
        for (p = s->places; p && !(p->cpus == *cpus);) p = p->before;
    if (cpus && !p &&
        (p = new (std::nothrow) stream_place{*cpus, last_id.fetch_add(1, std::memory_order_relaxed) + 1, s->places}))
        s->places = p;
    if (p || !cpus) s->place.store(p, std::memory_order_release); // release[abt-place]
    s->lock.unlock();
    COMITY_CHECK(p || !cpus, ABT_ERR_MEM);
    if (own_stream() == s) {
        streams::go_to_place(core::current_carrier(), s);
    } else {
        s->requests.fetch_or(stream_moves, std::memory_order_release); // release[abt-request]
        wake(s);
    }
    return ABT_SUCCESS;
}

sys::cpu_set cpus_of(const stream *s) {
    const stream_place *p = s->place.load(std::memory_order_acquire); // acquire[abt-place]
    return p ? p->cpus : sys::process_cpus();
}

} // namespace

extern "C" {

int ABT_xstream_set_cpubind(ABT_xstream h, int cpuid) { return ABT_xstream_set_affinity(h, 1, &cpuid); }

int ABT_xstream_get_cpubind(ABT_xstream h, int *cpuid) {
    COMITY_CHECK_READY();
    COMITY_CHECK(h, ABT_ERR_INV_XSTREAM);
    *cpuid = cpus_of(of(h)).next();
    return ABT_SUCCESS;
}

int ABT_xstream_set_affinity(ABT_xstream h, int num_cpuids, int *cpuids) {
    COMITY_CHECK_READY();
    COMITY_CHECK(h, ABT_ERR_INV_XSTREAM);
    COMITY_CHECK(num_cpuids >= 0, ABT_ERR_INV_ARG);
    sys::cpu_set set;
    COMITY_TRY(make_set(num_cpuids, cpuids, set));
    return set_place(of(h), num_cpuids ? &set : nullptr);
}

int ABT_xstream_get_affinity(ABT_xstream h, int max_cpuids, int *cpuids, int *num_cpuids) {
    COMITY_CHECK_READY();
    COMITY_CHECK(h, ABT_ERR_INV_XSTREAM);
    COMITY_CHECK(max_cpuids >= 0, ABT_ERR_INV_ARG);
    const sys::cpu_set set = cpus_of(of(h));
    int cpu = set.next();
    for (int i = 0; i < max_cpuids && cpu >= 0; ++i, cpu = set.next(cpu + 1)) cpuids[i] = cpu;
    if (num_cpuids) *num_cpuids = static_cast<int>(set.count());
    return ABT_SUCCESS;
}
}
