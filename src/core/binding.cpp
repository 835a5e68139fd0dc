#include "core/binding.hpp"

#include "comity/core.h"
#include "core/base.hpp"
#include "core/runtime.hpp"
#include "core/spinlock.hpp"
#include "sys/cpu_limits.hpp"
#include "sys/message.hpp"
#include "sys/options.hpp"
#include "sys/topology.hpp"

#include <cerrno>
#include <new>

namespace comity::core {

std::atomic<bool> harts_are_bound{false};
std::atomic<bool> threads_are_bound{false};

namespace {

// A hart has two kernel threads at most that run where it does: its worker, also while that sleeps, and an adopted one
// that carries it.
struct place {
    spinlock lock;
    sys::cpu_set cpus;                      // under lock; empty: the hart is not bound
    std::atomic<std::uint32_t> version{0};  // how often `cpus` has changed; written under lock
    std::atomic<int> worker{0}, adopted{0}; // kernel thread ids, written under lock; 0: none
    sys::cpu_set outside;                   // the adopted one's own mask, under lock
};
std::atomic<place *> places{nullptr}; // one for each hart, made with the first binding, under making
spinlock making;
std::atomic<bool> complained{false};

place *get_places() noexcept { return places.load(std::memory_order_acquire); } // acquire[places]

place *make_places() noexcept {
    making.lock();
    place *all = get_places();
    if (!all) {
        all = new (std::nothrow) place[base().hart_count()];
        places.store(all, std::memory_order_release); // release[places]
    }
    making.unlock();
    return all;
}

std::atomic<int> &thread_of_kind(place &p, const carrier *k) noexcept { return k->adopted ? p.adopted : p.worker; }

// Who carries the hart reads what it wrote itself, or who carried the hart after it: each hands the hart on.
bool follows(place &p, const carrier *k) noexcept {
    return thread_of_kind(p, k).load(std::memory_order_relaxed) == k->kernel_id;
}
void enter(place &p, const carrier *k) noexcept {
    thread_of_kind(p, k).store(k->kernel_id, std::memory_order_relaxed);
    if (k->adopted) p.outside = k->bound->outside;
}

// A CPU may have been taken from the process since; then the thread stays where it is.
void set_cpus(int id, const sys::cpu_set &cpus) noexcept {
    if (!sys::machine().is_this_machine()) return;
    const int error = sys::set_thread_cpus(id, cpus);
    if (error != 0 && !complained.exchange(true, std::memory_order_relaxed))
        sys::warn("a hart cannot be bound (error %d): the process may no longer use its cores", error);
}

int send_here(const sys::cpu_set &cpus) noexcept {
    return sys::machine().is_this_machine() ? sys::set_thread_cpus(0, cpus) : 0;
}

sys::cpu_set cpus_or_all(const place &p) noexcept {
    if (!p.cpus.empty()) return p.cpus;
    if (sys::machine().is_this_machine()) return sys::process_cpus();
    sys::cpu_set all;
    for (const sys::processor &each : sys::machine()) all.add(each.cpu);
    return all;
}

// Of a thread that follows the hart: an adopted one keeps what it came with while the hart is not bound. Under the
// lock.
sys::cpu_set cpus_of_thread(const place &p, bool adopted) noexcept {
    return adopted && p.cpus.empty() ? p.outside : cpus_or_all(p);
}

void drop_thread(place &p, const carrier *k) noexcept {
    p.lock.lock();
    if (follows(p, k)) thread_of_kind(p, k).store(0, std::memory_order_relaxed); // else another one does by now
    p.lock.unlock();
}

// The calling kernel thread follows the hart from now on. Whoever changes the hart's CPUs meanwhile binds it too, and
// the change may be overtaken: then once more.
void follow(place &p, const carrier *k) noexcept {
    for (;;) {
        p.lock.lock();
        enter(p, k);
        const sys::cpu_set cpus = cpus_of_thread(p, k->adopted);
        const std::uint32_t version = p.version.load(std::memory_order_relaxed);
        p.lock.unlock();
        set_cpus(0, cpus);
        std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[binding]
        if (p.version.load(std::memory_order_relaxed) == version) return;
    }
}

} // namespace

void start_binding(unsigned harts, sys::bind_choice what) noexcept {
    sys::process_cpus(); // before any thread is bound
    if (what == sys::bind_choice::none) return;
    place *all = make_places();
    if (!all) return sys::warn("no memory to bind harts");
    for (unsigned i = 0; i < harts; ++i) all[i].cpus = sys::cpus_for(sys::machine(), what, i, harts);
    harts_are_bound.store(true, std::memory_order_relaxed); // nobody carries a hart yet
}

void bind_slowly(carrier *k) noexcept {
    place *all = get_places();
    if (!all) return; // the first binding is under way: it comes to this thread later
    if (!k->bound && !(k->bound = new (std::nothrow) binding)) return;
    binding &b = *k->bound;
    const int hart = k->carried->id;
    const std::uint32_t version = all[hart].version.load(std::memory_order_relaxed);
    if (b.hart == hart && b.version == version && !b.place && follows(all[hart], k)) return;
    if (b.hart >= 0)
        drop_thread(all[b.hart], k);
    else if (k->adopted && !b.place && !b.home)
        sys::get_thread_cpus(0, b.outside);
    b.place = 0;
    b.version = version; // what follow() finds is newer, if anything
    follow(all[hart], k);
    b.hart = hart;
}

void unbind_slowly(carrier *k) noexcept {
    binding &b = *k->bound;
    if (b.hart < 0 && !b.place) return;
    if (b.hart >= 0) drop_thread(get_places()[b.hart], k);
    b.hart = -1;
    b.place = 0;
    send_here(b.outside);
}

// A thread that was sent somewhere follows no hart meanwhile.
int run_on(carrier *k, const sys::cpu_set *cpus, std::uint64_t id) noexcept {
    if (!k->bound && (!cpus || !(k->bound = new (std::nothrow) binding))) return cpus ? ENOMEM : 0;
    binding &b = *k->bound;
    const std::uint64_t at_home = k->adopted && b.hart < 0 ? b.home : 0; // its own mask says the same
    if (cpus && at_home == id) return b.place ? run_on(k, nullptr, 0) : 0;
    if (b.place == (cpus ? id : 0)) return 0;
    if (!cpus) {
        if (k->carried && harts_are_bound.load(std::memory_order_relaxed)) {
            bind_slowly(k);
            return 0;
        }
        b.place = 0;
        return send_here(k->adopted ? b.outside : sys::process_cpus());
    }
    if (b.hart >= 0)
        drop_thread(get_places()[b.hart], k);
    else if (k->adopted && !b.place && !b.home)
        sys::get_thread_cpus(0, b.outside);
    b.hart = -1;
    b.place = id;
    threads_are_bound.store(true, std::memory_order_relaxed);
    return send_here(*cpus);
}

int settle(carrier *k, const sys::cpu_set &cpus, std::uint64_t id) noexcept {
    if (!k->bound && !(k->bound = new (std::nothrow) binding)) return ENOMEM;
    binding &b = *k->bound;
    if (b.hart >= 0) {
        place &p = get_places()[b.hart];
        p.lock.lock();
        if (follows(p, k)) p.outside = cpus;
        p.lock.unlock();
    }
    b.outside = cpus;
    b.home = id;
    threads_are_bound.store(true, std::memory_order_relaxed);
    return b.hart >= 0 || b.place ? 0 : send_here(cpus); // else when it leaves
}

void follow_none(const carrier *k) noexcept {
    if (k->bound && k->bound->hart >= 0) drop_thread(get_places()[k->bound->hart], k);
}

void forget_binding(carrier *k) noexcept {
    follow_none(k);
    delete k->bound;
    k->bound = nullptr;
}

static constexpr sys::cpu_set every_cpu = sys::cpu_set::every();

// The kernel remembers a set for good, also when more CPUs come: so it is all where nothing restricts the process.
static const sys::cpu_set &cpus_without_hart() noexcept {
    const sys::cpu_limits &limits = sys::get_cpu_limits();
    return limits.online != 0 && limits.affinity >= limits.online ? every_cpu : sys::process_cpus();
}

void run_anywhere() noexcept {
    if (harts_are_bound.load(std::memory_order_relaxed) || threads_are_bound.load(std::memory_order_relaxed))
        set_cpus(0, cpus_without_hart());
}

void let_run_anywhere(sys::joinable_thread thread) noexcept {
    if (sys::send_kernel_thread(thread, cpus_without_hart()) == 0) return;
    (void)sys::send_kernel_thread(thread, every_cpu); // the process may use others by now; or it has ended
}

void binding_after_fork(carrier *survivor) noexcept {
    new (&making) spinlock;
    place *all = get_places();
    for (unsigned i = 0; all && i < base().hart_count(); ++i) {
        new (&all[i].lock) spinlock;
        all[i].worker.store(0, std::memory_order_relaxed);
        all[i].adopted.store(0, std::memory_order_relaxed);
    }
    if (!survivor || !survivor->bound || (survivor->bound->hart < 0 && !survivor->bound->place)) return;
    survivor->bound->hart = -1;
    survivor->bound->place = 0;
    sys::set_thread_cpus(0, survivor->adopted ? survivor->bound->outside : sys::process_cpus());
}

namespace {

// The CPUs on which the hart may run: its own set, or all that the process may use.
sys::cpu_set cpus_of_hart(unsigned hart) noexcept {
    place *all = get_places();
    if (!all) return sys::process_cpus();
    all[hart].lock.lock();
    const sys::cpu_set cpus = cpus_or_all(all[hart]);
    all[hart].lock.unlock();
    return cpus;
}

} // namespace

int bind_hart(unsigned hart, const sys::cpu_set &cpus) noexcept {
    sys::machine(); // read before a lock is taken
    place *all = make_places();
    if (!all) return ENOMEM;
    if (!harts_are_bound.exchange(true, std::memory_order_relaxed)) {
        std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[first-binding]
        visit_carriers( // workers that started before; later ones see the flag, since both take the list's lock
            [](carrier *k, void *argument) {
                const struct hart *own = k->own.load(std::memory_order_relaxed);
                if (!own) return;
                place &p = static_cast<place *>(argument)[own->id];
                p.lock.lock();
                p.worker.store(k->kernel_id, std::memory_order_relaxed);
                p.lock.unlock();
            },
            all);
    }
    place &p = all[hart];
    p.lock.lock();
    p.cpus = cpus;
    p.version.store(p.version.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst); // seq_cst[binding]
    for (const bool adopted : {false, true})             // under the lock, so that none of them ends meanwhile
        if (const int id = (adopted ? p.adopted : p.worker).load(std::memory_order_relaxed); id != 0)
            set_cpus(id, cpus_of_thread(p, adopted));
    p.lock.unlock();
    // The caller's own thread may carry the hart since before the first binding.
    if (carrier *k = current_carrier(); k && k->carried) bind_as_hart(k);
    return 0;
}

} // namespace comity::core

// ---- The C interface

using namespace comity;

namespace {

comity_location_t nowhere() noexcept { return {-1, -1, -1, -1, -1, -1}; }

// What all CPUs of a set have in common.
comity_location_t common_location(const sys::cpu_set &cpus) noexcept {
    const sys::topology &machine = sys::machine();
    comity_location_t found = nowhere();
    bool first = true;
    for (const sys::processor &p : machine) {
        if (!cpus.has(p.cpu)) continue;
        const comity_location_t here{p.cpu,
                                     p.where(sys::part::core),
                                     p.where(sys::part::l2_cache),
                                     p.where(sys::part::last_cache),
                                     p.where(sys::part::numa_node),
                                     p.where(sys::part::socket)};
        const auto keep = [first](int &at, int now) { at = first || at == now ? now : -1; };
        keep(found.cpu, here.cpu);
        keep(found.core, here.core);
        keep(found.l2_cache, here.l2_cache);
        keep(found.last_cache, here.last_cache);
        keep(found.numa_node, here.numa_node);
        keep(found.socket, here.socket);
        first = false;
    }
    return found;
}

} // namespace

extern "C" {

int comity_hart_bind(int hart, const int *cpus, size_t n) {
    if (hart < 0 || hart >= comity_hart_count() || (n != 0 && !cpus)) return EINVAL;
    sys::cpu_set set;
    for (size_t i = 0; i < n; ++i) {
        if (!sys::machine().find(cpus[i])) return EINVAL;
        set.add(cpus[i]);
    }
    return core::bind_hart(static_cast<unsigned>(hart), set);
}

int comity_hart_cpus(int hart, int *cpus, size_t room, size_t *n) {
    if (hart < 0 || hart >= comity_hart_count() || (room != 0 && !cpus)) return EINVAL;
    const sys::cpu_set set = core::cpus_of_hart(static_cast<unsigned>(hart));
    size_t count = 0;
    for (int cpu = set.next(); cpu >= 0; cpu = set.next(cpu + 1)) {
        if (count < room) cpus[count] = cpu;
        ++count;
    }
    if (n) *n = count;
    return count > room && cpus ? ERANGE : 0;
}

int comity_hart_location(int hart, comity_location_t *location) {
    if (hart < 0 || hart >= comity_hart_count() || !location) return EINVAL;
    *location = common_location(core::cpus_of_hart(static_cast<unsigned>(hart)));
    return 0;
}

int comity_cpu_location(int cpu, comity_location_t *location) {
    core::ensure_started();
    if (!location || !sys::machine().find(cpu)) return EINVAL;
    sys::cpu_set set;
    set.add(cpu);
    *location = common_location(set);
    return 0;
}
}
