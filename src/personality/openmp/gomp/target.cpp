// target and teams without devices: everything happens on the host.
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

#include "personality/openmp/gomp/abi.hpp"
#include "personality/openmp/gomp/depend.hpp"
#include "personality/openmp/league.hpp"
#include "personality/openmp/omp/functions.hpp"
#include "personality/openmp/ompt/hooks.hpp"
#include "personality/openmp/region.hpp"
#include "personality/openmp/task.hpp"
#include "personality/openmp/thread.hpp"
#include "sys/message.hpp"

using namespace comity::openmp;

namespace {

constexpr unsigned short map_kind_mask = 0xff,
                         map_firstprivate = 12; // the compilers' numbers; above: log2 of the alignment

// A target region's thread_limit, if the compiler's list of arguments has one for every device: entries of (value << 16
// | id), or of an id with a bit that says that the value is the next entry; the list ends with a zero.
std::intptr_t thread_limit_in(void **arguments) noexcept {
    constexpr std::intptr_t device = 0x7f, value_follows = 0x80, id = 0xff00, thread_limit = 0x200;
    while (arguments && *arguments) {
        const auto entry = reinterpret_cast<std::intptr_t>(*arguments++);
        const std::intptr_t value = entry & value_follows ? reinterpret_cast<std::intptr_t>(*arguments++) : entry >> 16;
        if ((entry & device) == 0 && (entry & id) == thread_limit) return value;
    }
    return 0;
}

// OMP_TARGET_OFFLOAD=mandatory: what a program asks of a device is not done by the host in its place. By its number,
// which is that of the devices, the program may ask for it.
void demand_device(int device) noexcept {
    constexpr int default_device = -1, host_instead = -2; // the compilers' numbers; host_instead: the clause `if`
    if (process.target_offload != process_icvs::offload::mandatory) [[likely]]
        return;
    if (device == default_device) device = omp_get_default_device();
    if (device == host_instead || device == omp_get_initial_device()) return;
    comity::sys::warn("OMP_TARGET_OFFLOAD=mandatory: a target construct asks for device %d, and there are no devices; "
                      "without that setting the host stands in",
                      device);
    std::exit(EXIT_FAILURE);
}

// A target region on the host begins like a program: as an initial thread of its own, outside of all regions. The
// caller keeps its data for afterwards.
void run_on_host(region_function function, void **addresses, std::intptr_t limit = 0) noexcept {
    thread *before = current();
    thread *fresh = new_root();
    self = fresh;
    if (limit) own_icv().thread_limit = limit < std::intptr_t{no_limit} ? static_cast<unsigned>(limit) : no_limit;
    if (ompt::on()) [[unlikely]]
        ompt::run_target(before, function, addresses);
    else
        function(addresses);
    self = before;
    free_root(fresh);
}

struct layout {
    std::size_t size = 0, alignment = 1;
};

// Calls f(i, offset) for each variable that the region gets a copy of; absent optional arguments have no address.
template <class F>
layout each_firstprivate(std::size_t count, void *const *addresses, const std::size_t *sizes,
                         const unsigned short *kinds, F f) {
    layout l;
    for (std::size_t i = 0; i < count; ++i) {
        if ((kinds[i] & map_kind_mask) != map_firstprivate || !addresses[i]) continue;
        const std::size_t alignment = std::size_t{1} << (kinds[i] >> 8);
        l.alignment = l.alignment > alignment ? l.alignment : alignment;
        l.size = (l.size + alignment - 1) & -alignment;
        f(i, l.size);
        l.size += sizes[i];
    }
    return l;
}

// ---- With nowait and depend: a task, whose maker does not stand still for what it depends on. Outside all regions
// there may be nobody else to do that first, and in a final task nothing is deferred.

bool is_deferred(unsigned flags, void *const *depend) noexcept {
    constexpr unsigned nowait = 1;
    const thread *t = current();
    return (flags & nowait) && depend && t->team->parent && !t->task->is_final();
}

void make_task(task_function function, void *data, layout of, void **depend) noexcept {
    const gomp_dependences dependences(depend);
    task_request request{function, data, nullptr, of.size, of.alignment, flag_depend};
    request.depend = dependences;
    create_task(current(), request);
}

// The task's data: this, an entry for each variable, and the copies.
struct alignas(std::max_align_t) deferred_target {
    region_function function;
    std::intptr_t thread_limit;
    std::size_t count;
    struct variable {
        void *address;
        std::size_t copy_at; // from the beginning of all; 0: it has no copy
    };
    variable *variables() noexcept { return reinterpret_cast<variable *>(this + 1); }

    static void run(void *data) {
        auto *own = static_cast<deferred_target *>(data);
        void **addresses = static_cast<void **>(__builtin_alloca((own->count + 1) * sizeof(void *)));
        for (std::size_t i = 0; i < own->count; ++i) {
            const variable &v = own->variables()[i];
            addresses[i] = v.copy_at ? static_cast<char *>(data) + v.copy_at : v.address;
        }
        run_on_host(own->function, addresses, own->thread_limit);
    }
};

void defer_target(region_function function, std::size_t count, void **addresses, const std::size_t *sizes,
                  const unsigned short *kinds, void **depend, std::intptr_t limit) noexcept {
    using variable = deferred_target::variable;
    const layout copies = each_firstprivate(count, addresses, sizes, kinds, [](std::size_t, std::size_t) {});
    layout all{sizeof(deferred_target) + count * sizeof(variable),
               std::max(copies.alignment, alignof(deferred_target))};
    const std::size_t copies_at = (all.size + all.alignment - 1) & -all.alignment;
    all.size = copies_at + copies.size;
    auto *data = static_cast<char *>(__builtin_alloca(all.size + all.alignment));
    data += all.alignment - reinterpret_cast<std::uintptr_t>(data) % all.alignment;
    auto *own = new (data) deferred_target{function, limit, count};
    for (std::size_t i = 0; i < count; ++i) new (&own->variables()[i]) variable{addresses[i], 0};
    each_firstprivate(count, addresses, sizes, kinds, [&](std::size_t i, std::size_t offset) {
        std::memcpy(data + copies_at + offset, addresses[i], sizes[i]);
        own->variables()[i].copy_at = copies_at + offset;
    });
    make_task(deferred_target::run, data, all, depend);
}

// Of what does nothing here but to take part in the order.
void order_only(unsigned flags, void **depend) noexcept {
    if (is_deferred(flags, depend))
        make_task([](void *) {}, nullptr, {0, 1}, depend);
    else if (depend)
        await_dependences(current(), gomp_dependences(depend));
}

} // namespace

COMITY_GOMP void GOMP_target(int device, region_function function, const void *, std::size_t, void **addresses,
                             std::size_t *, unsigned char *) noexcept {
    demand_device(device);
    run_on_host(function, addresses);
}

COMITY_GOMP void GOMP_target_ext(int device, region_function function, std::size_t count, void **addresses,
                                 std::size_t *sizes, unsigned short *kinds, unsigned flags, void **depend,
                                 void **arguments) noexcept {
    demand_device(device);
    const std::intptr_t limit = thread_limit_in(arguments);
    if (is_deferred(flags, depend)) return defer_target(function, count, addresses, sizes, kinds, depend, limit);
    if (depend) await_dependences(current(), gomp_dependences(depend));
    const layout needed = each_firstprivate(count, addresses, sizes, kinds, [](std::size_t, std::size_t) {});
    char *copies = static_cast<char *>(__builtin_alloca(needed.size + needed.alignment));
    copies += needed.alignment - reinterpret_cast<std::uintptr_t>(copies) % needed.alignment;
    each_firstprivate(count, addresses, sizes, kinds, [&](std::size_t i, std::size_t offset) {
        std::memcpy(copies + offset, addresses[i], sizes[i]);
        addresses[i] = copies + offset;
    });
    run_on_host(function, addresses, limit);
}

// The host's data is the device's.
COMITY_GOMP void GOMP_target_data(int device, const void *, std::size_t, void **, std::size_t *,
                                  unsigned char *) noexcept {
    demand_device(device);
}
COMITY_GOMP void GOMP_target_data_ext(int device, std::size_t, void **, std::size_t *, unsigned short *) noexcept {
    demand_device(device);
}
COMITY_GOMP void GOMP_target_end_data() noexcept {}
COMITY_GOMP void GOMP_target_update(int device, const void *, std::size_t, void **, std::size_t *,
                                    unsigned char *) noexcept {
    demand_device(device);
}

COMITY_GOMP void GOMP_target_update_ext(int device, std::size_t, void **, std::size_t *, unsigned short *,
                                        unsigned flags, void **depend) noexcept {
    demand_device(device);
    order_only(flags, depend);
}

COMITY_GOMP void GOMP_target_enter_exit_data(int device, std::size_t, void **, std::size_t *, unsigned short *,
                                             unsigned flags, void **depend) noexcept {
    demand_device(device);
    order_only(flags, depend);
}

// Programs register the images of their devices' code, of which we have no use.
COMITY_GOMP void GOMP_offload_register_ver(unsigned, const void *, int, const void *) noexcept {}
COMITY_GOMP void GOMP_offload_register(const void *, int, const void *) noexcept {}
COMITY_GOMP void GOMP_offload_unregister_ver(unsigned, const void *, int, const void *) noexcept {}
COMITY_GOMP void GOMP_offload_unregister(const void *, int, const void *) noexcept {}

// teams in a target region: one team after the other. The region's code calls it until it is false.
COMITY_GOMP void GOMP_teams(unsigned teams, unsigned limit) noexcept {
    thread *t = current();
    if (limit) own_icv().thread_limit = limit;
    t->teams = 1; // the code is not repeated: one team does all
    t->team_number = 0;
    (void)teams;
    if (ompt::on()) ompt::target_team_begins(t, COMITY_OMPT_HERE);
}

COMITY_GOMP bool GOMP_teams4(unsigned least, unsigned most, unsigned limit, bool first) noexcept {
    thread *t = current();
    const bool watched = ompt::on();
    if (!first) {
        barrier(t);                             // its tasks
        if (watched) ompt::target_team_ends(t); // while it has its number
        if (++t->team_number == t->teams) return false;
    } else {
        if (limit) own_icv().thread_limit = limit;
        (void)least;
        t->teams = most ? most : 1;
        t->team_number = 0;
    }
    if (watched) ompt::target_team_begins(t, COMITY_OMPT_HERE);
    return true;
}

// teams on the host.
COMITY_GOMP void GOMP_teams_reg(region_function function, void *data, unsigned teams, unsigned limit,
                                unsigned) noexcept {
    run_league(current(), {function, data, teams, limit, &gcc_abi, COMITY_OMPT_HERE});
}
