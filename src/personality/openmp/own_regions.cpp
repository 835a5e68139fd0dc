#include "personality/openmp/own_regions.hpp"

#include "sys/loaded_objects.hpp"

namespace comity::openmp {

unsigned levels_seen_by(const void *caller, bool active) noexcept {
    const team *tm = self->team;
    const unsigned all = active ? tm->active_level : tm->level;
    if (all == 0 || !process.own_regions) return all;
    const void *asker = sys::library_around(caller);
    if (!asker) return all;
    unsigned own = 0;
    for (; tm->parent; tm = tm->parent->team)
        if ((!active || tm->size > 1) && sys::library_around(tm->opened_by) == asker) ++own;
    return own;
}

} // namespace comity::openmp
