// Automatic: RoC-L with a choice by the observed rate of deviations (Iwasaki, section 3.8, leaves it to the future).
// When few threads are stopped, nothing is as cheap as the joiner's own stack; when nearly all are, each of them stops
// its joiner too, and a switch to a context of its own, as in Full-L, is cheaper. In a scheduler's hands RoC-L is the
// best choice at any rate, so nothing else has to be chosen.
#include "thread/technique/technique.hpp"

namespace comity {

namespace {

constexpr unsigned nearly_all = 256 * 3 / 4; // of 256
constexpr unsigned try_again = 32; // so often the joiner's stack is tried all the same: times may have changed

void note(hart_cache &h, bool stopped) noexcept {
    h.stopped = static_cast<std::uint16_t>(h.stopped - h.stopped / 8 + (stopped ? 256 / 8 : 0));
}

} // namespace

void run_where_it_pays(thread *t, core::context *joiner) noexcept {
    hart_cache &h = own_cache(joiner->on);
    if (h.stopped > nearly_all && ++h.declined % try_again != 0) return join_by_switch<false>(t, joiner);
    const bool before = joiner->broken;
    joiner->broken = false;
    run_on_joiner(t, joiner);
    note(own_cache(joiner->on), joiner->broken);
    joiner->broken = joiner->broken || before;
}

} // namespace comity
