#include "scheduler/victims.hpp"

#include "comity/core.h"
#include "core/binding.hpp"
#include "sys/topology.hpp"

#include <algorithm>
#include <new>
#include <tuple>
#include <utility>

namespace comity::scheduler {

namespace {

auto order(const victims::location &p) noexcept { return std::tuple(p.outer, p.inner, p.near); }

// Do they share a part of this level, 0 being the nearest?
bool share(const victims::location &a, const victims::location &b, unsigned level) noexcept {
    if (a.outer != b.outer) return false;
    if (level == 2) return a.outer >= 0;
    if (a.inner != b.inner) return false;
    if (level == 1) return a.inner >= 0;
    return a.near == b.near && a.near >= 0;
}

} // namespace

std::unique_ptr<victims> victims::make(const location *locations, unsigned n) noexcept {
    std::unique_ptr<entry[]> entries(new (std::nothrow) entry[n]);
    if (!entries) return nullptr;
    for (unsigned i = 0; i < n; ++i) entries[i].hart = static_cast<std::uint16_t>(i);
    std::sort(entries.get(), entries.get() + n, [locations](const entry &a, const entry &b) {
        return std::pair(order(locations[a.hart]), a.hart) < std::pair(order(locations[b.hart]), b.hart);
    });
    for (unsigned at = 0; at < n; ++at) {
        entry &own = entries[entries[at].hart];
        own.position = static_cast<std::uint16_t>(at);
        const auto same = [&](unsigned other, unsigned level) {
            return share(locations[entries[at].hart], locations[entries[other].hart], level);
        };
        unsigned begin = at, end = at + 1;
        for (unsigned level = 0; level < levels;
             ++level) { // sorted, so each level's are around those of the one before
            while (begin > 0 && same(begin - 1, level)) --begin;
            while (end < n && same(end, level)) ++end;
            own.near[level] = {static_cast<std::uint16_t>(begin), static_cast<std::uint16_t>(end)};
        }
    }
    std::unique_ptr<victims> made(new (std::nothrow) victims(std::move(entries), n));
    if (made && made->all_are_equal()) made.reset();
    return made;
}

bool victims::all_are_equal() const noexcept {
    for (unsigned i = 0; i < n_; ++i)
        for (const range &r : entries_[i].near)
            if (r.size() != 1 && r.size() != n_) return false;
    return true;
}

std::unique_ptr<victims> victims::make(unsigned harts) noexcept {
    if (harts <= 2 || harts > UINT16_MAX || !core::harts_are_bound.load(std::memory_order_relaxed)) return nullptr;
    std::unique_ptr<location[]> locations(new (std::nothrow) location[harts]);
    if (!locations) return nullptr;
    const sys::topology &machine = sys::machine();
    const bool has_l2 = machine.count(sys::part::l2_cache) > 1; // else all share the one, or there is none
    const bool cache_is_inner = machine.count(sys::part::last_cache) >= machine.count(sys::part::numa_node);
    for (unsigned i = 0; i < harts; ++i) {
        comity_location_t l{};
        if (comity_hart_location(static_cast<int>(i), &l) != 0) return nullptr;
        locations[i].near = has_l2 ? l.l2_cache : l.core;
        locations[i].inner = cache_is_inner ? l.last_cache : l.numa_node;
        locations[i].outer = cache_is_inner ? l.numa_node : l.last_cache;
    }
    return make(locations.get(), harts);
}

unsigned victims::at(unsigned own, unsigned i, std::uint32_t random) const noexcept {
    const entry &e = entries_[own];
    range inside{e.position, static_cast<std::uint16_t>(e.position + 1)};
    unsigned before = 0; // how many were looked at already
    for (unsigned level = 0; level <= levels; ++level) {
        const range here = level < levels ? e.near[level] : range{0, static_cast<std::uint16_t>(n_)};
        const unsigned many = here.size() - inside.size();
        if (i - before < many) {
            unsigned at = here.begin + (i - before + random % many) % many;
            if (at >= inside.begin) at += inside.size();
            return entries_[at].hart;
        }
        before += many;
        inside = here;
    }
    return own;
}

} // namespace comity::scheduler
