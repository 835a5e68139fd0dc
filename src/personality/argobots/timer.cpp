// The functions ABT_timer_*, ABT_get_wtime, and ABT_tool_*.
#include "personality/argobots/check.hpp"
#include "sys/clock.hpp"

#include <new>

using namespace comity::abt;

namespace {
struct stop_watch {
    std::int64_t from = 0, to = 0; // now_ns
    double seconds() const { return static_cast<double>(to - from) * 1e-9; }
};
stop_watch *of(ABT_timer t) { return reinterpret_cast<stop_watch *>(t); }
} // namespace

extern "C" {

double ABT_get_wtime(void) { return static_cast<double>(comity::sys::now_ns()) * 1e-9; }

int ABT_timer_create(ABT_timer *made) {
    auto *t = new (std::nothrow) stop_watch;
    COMITY_CHECK(t, ABT_ERR_MEM);
    *made = reinterpret_cast<ABT_timer>(t);
    return ABT_SUCCESS;
}

int ABT_timer_dup(ABT_timer t, ABT_timer *made) {
    COMITY_CHECK(t, ABT_ERR_INV_TIMER);
    COMITY_TRY(ABT_timer_create(made));
    *of(*made) = *of(t);
    return ABT_SUCCESS;
}

int ABT_timer_free(ABT_timer *t) {
    COMITY_CHECK(*t, ABT_ERR_INV_TIMER);
    delete of(*t);
    *t = ABT_TIMER_NULL;
    return ABT_SUCCESS;
}

int ABT_timer_start(ABT_timer t) {
    COMITY_CHECK(t, ABT_ERR_INV_TIMER);
    of(t)->from = comity::sys::now_ns();
    return ABT_SUCCESS;
}

int ABT_timer_stop(ABT_timer t) {
    COMITY_CHECK(t, ABT_ERR_INV_TIMER);
    of(t)->to = comity::sys::now_ns();
    return ABT_SUCCESS;
}

int ABT_timer_read(ABT_timer t, double *seconds) {
    COMITY_CHECK(t, ABT_ERR_INV_TIMER);
    *seconds = of(t)->seconds();
    return ABT_SUCCESS;
}

int ABT_timer_stop_and_read(ABT_timer t, double *seconds) {
    COMITY_TRY(ABT_timer_stop(t));
    return ABT_timer_read(t, seconds);
}

int ABT_timer_stop_and_add(ABT_timer t, double *seconds) {
    COMITY_TRY(ABT_timer_stop(t));
    *seconds += of(t)->seconds();
    return ABT_SUCCESS;
}

int ABT_timer_get_overhead(double *overhead) {
    constexpr int rounds = 5000;
    stop_watch whole, one;
    whole.from = comity::sys::now_ns();
    for (int i = 0; i < rounds; ++i) {
        one.from = comity::sys::now_ns();
        one.to = comity::sys::now_ns();
    }
    whole.to = comity::sys::now_ns();
    *overhead = whole.seconds() / rounds;
    return ABT_SUCCESS;
}

// As in an Argobots that was built without tools.
int ABT_tool_register_thread_callback(ABT_tool_thread_callback_fn, uint64_t, void *) { return ABT_ERR_FEATURE_NA; }
int ABT_tool_query_thread(ABT_tool_context, uint64_t, ABT_tool_query_kind, void *) { return ABT_ERR_FEATURE_NA; }
}
