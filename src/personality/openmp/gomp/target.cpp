// target and teams without devices: everything happens on the host.
#include <cstring>

#include "personality/openmp/gomp/abi.hpp"
#include "personality/openmp/gomp/depend.hpp"
#include "personality/openmp/league.hpp"
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

// A target region on the host begins like a program: as an initial thread of its own, outside of all regions. The
// caller keeps its data for afterwards.
void run_on_host(region_function function, void **addresses, void **arguments = nullptr) noexcept {
    thread *before = current();
    thread *fresh = new_root();
    self = fresh;
    if (const std::intptr_t limit = thread_limit_in(arguments))
        own_icv().thread_limit = limit < std::intptr_t{no_limit} ? static_cast<unsigned>(limit) : no_limit;
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

} // namespace

COMITY_GOMP void GOMP_target(int, region_function function, const void *, std::size_t, void **addresses, std::size_t *,
                             unsigned char *) noexcept {
    run_on_host(function, addresses);
}

COMITY_GOMP void GOMP_target_ext(int, region_function function, std::size_t count, void **addresses, std::size_t *sizes,
                                 unsigned short *kinds, unsigned, void **depend, void **arguments) noexcept {
    if (depend) await_dependences(current(), gomp_dependences(depend));
    const layout needed = each_firstprivate(count, addresses, sizes, kinds, [](std::size_t, std::size_t) {});
    char *copies = static_cast<char *>(__builtin_alloca(needed.size + needed.alignment));
    copies += needed.alignment - reinterpret_cast<std::uintptr_t>(copies) % needed.alignment;
    each_firstprivate(count, addresses, sizes, kinds, [&](std::size_t i, std::size_t offset) {
        std::memcpy(copies + offset, addresses[i], sizes[i]);
        addresses[i] = copies + offset;
    });
    run_on_host(function, addresses, arguments);
}

// The host's data is the device's.
COMITY_GOMP void GOMP_target_data(int, const void *, std::size_t, void **, std::size_t *, unsigned char *) noexcept {}
COMITY_GOMP void GOMP_target_data_ext(int, std::size_t, void **, std::size_t *, unsigned short *) noexcept {}
COMITY_GOMP void GOMP_target_end_data() noexcept {}
COMITY_GOMP void GOMP_target_update(int, const void *, std::size_t, void **, std::size_t *, unsigned char *) noexcept {}

COMITY_GOMP void GOMP_target_update_ext(int, std::size_t, void **, std::size_t *, unsigned short *, unsigned,
                                        void **depend) noexcept {
    if (depend) await_dependences(current(), gomp_dependences(depend));
}

COMITY_GOMP void GOMP_target_enter_exit_data(int, std::size_t, void **, std::size_t *, unsigned short *, unsigned,
                                             void **depend) noexcept {
    if (depend) await_dependences(current(), gomp_dependences(depend));
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
