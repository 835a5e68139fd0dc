// run_region wants to call rank 0's code; here that code is its caller's. So it runs on a stack of its own, beside the
// caller's, in the same context: rank 0's function goes back to the caller's stack, and the end of the region goes on
// with it.
#include "personality/openmp/legacy_region.hpp"

#include <ucontext.h>

#include "sys/memory.hpp"
#include "sys/message.hpp"
#include "sys/options.hpp"

namespace comity::openmp {
namespace {

struct side {
    region request;
    region_function function;
    void *data;
    openmp::loop loop;
    ucontext_t caller, inside;
    thread *opener;
    sys::stack_memory stack;
    side *outer; // the region around it
};

// The caller's innermost region of this kind: on its own stack of them, for rank 0 only.
__thread side *innermost __attribute__((tls_model("initial-exec"))) = nullptr;

// Rank 0 leaves the side stack for its caller's; the others do the work. The rank is the current thread's.
void enter_ranks(void *argument) noexcept {
    side *s = static_cast<side *>(argument);
    if (self->rank == 0)
        ::swapcontext(&s->inside, &s->caller);
    else
        s->function(s->data);
}

void on_side_stack() noexcept {
    side *s = innermost;
    run_region(s->opener, s->request);
    ::setcontext(&s->caller);
}

// As large as other ranks', since rank 0 runs tasks there at the end.
std::size_t stack_size() noexcept { return process.stack_size ? process.stack_size : sys::get_options().stack_size; }

} // namespace

void start_legacy_region(const region &r) noexcept {
    side *s = new (std::nothrow) side{};
    if (!s || !(s->stack = sys::map_stack(stack_size()))) sys::fatal("GOMP_parallel_start", "no memory for a stack");
    s->request = r;
    s->function = r.function;
    s->data = r.data;
    if (r.loop) { // the caller's copy does not live long enough
        s->loop = *r.loop;
        s->request.loop = &s->loop;
    }
    s->request.function = enter_ranks;
    s->request.data = s;
    s->opener = current();
    s->outer = innermost;
    innermost = s;
    ::getcontext(&s->inside);
    s->inside.uc_stack.ss_sp = s->stack.bottom;
    s->inside.uc_stack.ss_size = s->stack.size();
    s->inside.uc_link = nullptr;
    ::makecontext(&s->inside, on_side_stack, 0);
    ::swapcontext(&s->caller, &s->inside);
}

void end_legacy_region() noexcept {
    side *s = innermost;
    if (!s) sys::fatal("GOMP_parallel_end", "no region was begun by GOMP_parallel_start");
    ::swapcontext(&s->caller, &s->inside);
    innermost = s->outer;
    sys::unmap_stack(s->stack);
    delete s;
}

} // namespace comity::openmp
