// The end of a thread from the middle: pthread_exit, cancellation, and the handlers of both. As in the C library the
// stack is unwound, so that destructors run, and handlers where their frames are left.
#include "personality/pthread/threads/thread.hpp"

#include "sys/message.hpp"

#include <cstdlib>

#include <csetjmp>
#include <csignal>

#include <unwind.h>

namespace comity::posix {

namespace {

COMITY_NEXT_SYMBOL next<void (*)(void *)> next_exit{"pthread_exit"};
COMITY_NEXT_SYMBOL next<int (*)(pthread_t)> next_cancel{"pthread_cancel"};
COMITY_NEXT_SYMBOL next<int (*)(int, int *)> next_setcancelstate{"pthread_setcancelstate"};
COMITY_NEXT_SYMBOL next<int (*)(int, int *)> next_setcanceltype{"pthread_setcanceltype"};
COMITY_NEXT_SYMBOL next<void (*)()> next_testcancel{"pthread_testcancel"};
COMITY_NEXT_SYMBOL next<void (*)(__pthread_unwind_buf_t *)> next_register{"__pthread_register_cancel"};
COMITY_NEXT_SYMBOL next<void (*)(__pthread_unwind_buf_t *)> next_unregister{"__pthread_unregister_cancel"};
COMITY_NEXT_SYMBOL next<void (*)(__pthread_unwind_buf_t *)> next_register_defer{"__pthread_register_cancel_defer"};
COMITY_NEXT_SYMBOL next<void (*)(__pthread_unwind_buf_t *)> next_unregister_restore{
    "__pthread_unregister_cancel_restore"};
COMITY_NEXT_SYMBOL next<void (*)(__pthread_unwind_buf_t *)> next_unwind_next{"__pthread_unwind_next"};
COMITY_NEXT_SYMBOL next<void (*)(_pthread_cleanup_buffer *, void (*)(void *), void *)> next_push{
    "_pthread_cleanup_push"};
COMITY_NEXT_SYMBOL next<void (*)(_pthread_cleanup_buffer *, void (*)(void *), void *)> next_push_defer{
    "_pthread_cleanup_push_defer"};
COMITY_NEXT_SYMBOL next<void (*)(_pthread_cleanup_buffer *, int)> next_pop{"_pthread_cleanup_pop"};
COMITY_NEXT_SYMBOL next<void (*)(_pthread_cleanup_buffer *, int)> next_pop_restore{"_pthread_cleanup_pop_restore"};

thread_local _Unwind_Exception forced; // of the thread that ends; its TLS goes along

std::uintptr_t address_of(const void *p) noexcept { return reinterpret_cast<std::uintptr_t>(p); }

[[noreturn]] void leave(thread *t) noexcept {
    void *result = t->result;
    finish(t);
    comity_thread_exit(result);
}

// Called for each frame before it is unwound. Handlers of C code stand in frames that know nothing of exceptions: the
// frame that has one is gone on in, behind its setjmp, and calls __pthread_unwind_next.
_Unwind_Reason_Code at_frame(int, _Unwind_Action actions, _Unwind_Exception_Class, _Unwind_Exception *,
                             _Unwind_Context *context, void *argument) {
    auto *t = static_cast<thread *>(argument);
    const bool at_end = actions & _UA_END_OF_STACK;
    const std::uintptr_t frame = at_end ? UINTPTR_MAX : _Unwind_GetCFA(context);
    while (_pthread_cleanup_buffer *b = t->cleanup_buffers) {
        if (address_of(b) >= frame) break;
        t->cleanup_buffers = b->__prev;
        b->__routine(b->__arg);
    }
    if (__pthread_unwind_buf_t *b = t->unwind_buffers; b && address_of(b) < frame) {
        t->unwind_buffers = static_cast<__pthread_unwind_buf_t *>(b->__pad[0]);
        siglongjmp(reinterpret_cast<__jmp_buf_tag *>(b), 1);
    }
    if (frame > address_of(t->frame)) leave(t);
    return _URC_NO_REASON;
}

[[noreturn]] void unwind(thread *t) {
    forced.exception_class = 0;
    forced.exception_cleanup = nullptr;
    _Unwind_ForcedUnwind(&forced, at_frame, t);
    leave(t); // a stack without unwind tables
}

} // namespace

void end(thread *t, void *result) {
    t->result = result;
    t->ending = true;
    while (t->signals.call) leave_call(t->signals);
    note_cancellation(t);
    comity_thread_set_cancel(0);
    unwind(t);
}

void test_cancel(thread *t) {
    if (!t->ending && comity_thread_testcancel() == ECANCELED) end(t, PTHREAD_CANCELED);
}

void test_first_cancel() {
    if (const receiver *r = receiver_here(); r && ends_by_c_library(*r)) next_testcancel.get()();
}

bool is_open_to_cancel() noexcept {
    const thread *t = current_thread;
    return t && !t->ending && t->cancel_state == PTHREAD_CANCEL_ENABLE;
}

// Is the type the asynchronous one, or does it sleep in the kernel?
namespace {
bool acts_at_once(const thread &t) noexcept {
    const call_ends by = t.signals.call ? t.signals.call->ends : call_ends::by_asynchronous_requests;
    if (t.ending || t.cancel_state != PTHREAD_CANCEL_ENABLE || by == call_ends::by_nothing) return false;
    return by != call_ends::by_asynchronous_requests || t.cancel_type == PTHREAD_CANCEL_ASYNCHRONOUS;
}
} // namespace

void note_cancellation(thread *t) noexcept {
    t->signals.acts_at_once.store(acts_at_once(*t), std::memory_order_relaxed);
}

void cancel_at_once() {
    thread *t = current_thread;
    if (!t || t->ending || t->cancel_state != PTHREAD_CANCEL_ENABLE || t->cancel_type != PTHREAD_CANCEL_ASYNCHRONOUS)
        return;
    test_cancel();
}

void act_upon(signalled_wait e) {
    if (e != signalled_wait::cancelled) return;
    thread *t = current_thread;
    if (!t) return test_first_cancel();
    if (!t->ending) end(t, PTHREAD_CANCELED);
}

} // namespace comity::posix

using namespace comity::posix;
using comity::posix::thread;

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's names are reserved ones

COMITY_INTERPOSED void pthread_exit(void *result) {
    if (current_thread) end(current_thread, result);
    leave_to_others(result);
    next_exit.get()(result);
    std::abort();
}

COMITY_INTERPOSED int pthread_cancel(pthread_t t) {
    thread *own = thread_of(t);
    if (!own) {
        const int error = next_cancel.get()(t);
        if (receiver *first = first_receiver_if(t); first && error == 0) {
            first->is_asked_to_end.store(true, std::memory_order_relaxed);
            wake(*first); // elsewhere the C library interrupts it
            note_first_cancelled();
        }
        return error;
    }
    {
        const alive target(own);
        if (!target) return target.is_known() ? 0 : ESRCH;
        const int error = comity_thread_cancel(own->handle);
        if (error != 0) return error == ESRCH ? 0 : error;
        own->signals.to_be_cancelled.store(true, std::memory_order_relaxed);
        if (own != current_thread) see_to(own->signals);
    }
    if (own == current_thread) cancel_at_once();
    return 0;
}

COMITY_INTERPOSED int pthread_setcancelstate(int state, int *before) {
    thread *t = current_thread;
    if (!t) {
        const int error = next_setcancelstate.get()(state, before);
        if (receiver *r = receiver_here(); r && error == 0) r->refuses_to_end = state == PTHREAD_CANCEL_DISABLE;
        return error;
    }
    if (state != PTHREAD_CANCEL_ENABLE && state != PTHREAD_CANCEL_DISABLE) return EINVAL;
    const int was = t->cancel_state;
    if (before) *before = was;
    if (was == state) return 0;
    t->cancel_state = state;
    note_cancellation(t);
    if (!t->ending) comity_thread_set_cancel(state == PTHREAD_CANCEL_ENABLE);
    if (state == PTHREAD_CANCEL_ENABLE && t->cancel_type == PTHREAD_CANCEL_ASYNCHRONOUS) test_cancel();
    return 0;
}

COMITY_INTERPOSED int pthread_setcanceltype(int type, int *before) {
    thread *t = current_thread;
    if (!t) return next_setcanceltype.get()(type, before);
    if (type != PTHREAD_CANCEL_DEFERRED && type != PTHREAD_CANCEL_ASYNCHRONOUS) return EINVAL;
    if (before) *before = t->cancel_type;
    t->cancel_type = type;
    note_cancellation(t);
    if (type == PTHREAD_CANCEL_ASYNCHRONOUS) test_cancel();
    return 0;
}

COMITY_INTERPOSED void pthread_testcancel() { current_thread ? test_cancel() : next_testcancel.get()(); }

// ---- Handlers of pthread_cleanup_push in C code

COMITY_INTERPOSED void __pthread_register_cancel(__pthread_unwind_buf_t *b) {
    thread *t = current_thread;
    if (!t) return next_register.get()(b);
    b->__pad[0] = t->unwind_buffers;
    t->unwind_buffers = b;
}
COMITY_INTERPOSED void __pthread_unregister_cancel(__pthread_unwind_buf_t *b) {
    thread *t = current_thread;
    if (!t) return next_unregister.get()(b);
    t->unwind_buffers = static_cast<__pthread_unwind_buf_t *>(b->__pad[0]);
}
COMITY_INTERPOSED void __pthread_register_cancel_defer(__pthread_unwind_buf_t *b) {
    thread *t = current_thread;
    if (!t) return next_register_defer.get()(b);
    b->__pad[0] = t->unwind_buffers;
    b->__pad[2] = reinterpret_cast<void *>(static_cast<std::intptr_t>(t->cancel_type));
    t->cancel_type = PTHREAD_CANCEL_DEFERRED;
    note_cancellation(t);
    t->unwind_buffers = b;
}
COMITY_INTERPOSED void __pthread_unregister_cancel_restore(__pthread_unwind_buf_t *b) {
    thread *t = current_thread;
    if (!t) return next_unregister_restore.get()(b);
    t->unwind_buffers = static_cast<__pthread_unwind_buf_t *>(b->__pad[0]);
    t->cancel_type = static_cast<int>(reinterpret_cast<std::intptr_t>(b->__pad[2]));
    note_cancellation(t);
    if (t->cancel_type == PTHREAD_CANCEL_ASYNCHRONOUS) test_cancel();
}
COMITY_INTERPOSED void __pthread_unwind_next(__pthread_unwind_buf_t *b) {
    if (current_thread) unwind(current_thread);
    next_unwind_next.get()(b);
    std::abort();
}
COMITY_INTERPOSED void _pthread_cleanup_push(_pthread_cleanup_buffer *b, void (*routine)(void *), void *arg) {
    thread *t = current_thread;
    if (!t) return next_push.get()(b, routine, arg);
    b->__routine = routine;
    b->__arg = arg;
    b->__prev = t->cleanup_buffers;
    t->cleanup_buffers = b;
}
COMITY_INTERPOSED void _pthread_cleanup_pop(_pthread_cleanup_buffer *b, int execute) {
    thread *t = current_thread;
    if (!t) return next_pop.get()(b, execute);
    t->cleanup_buffers = b->__prev;
    if (execute) b->__routine(b->__arg);
}
COMITY_INTERPOSED void _pthread_cleanup_push_defer(_pthread_cleanup_buffer *b, void (*routine)(void *), void *arg) {
    thread *t = current_thread;
    if (!t) return next_push_defer.get()(b, routine, arg);
    b->__canceltype = t->cancel_type;
    t->cancel_type = PTHREAD_CANCEL_DEFERRED;
    note_cancellation(t);
    _pthread_cleanup_push(b, routine, arg);
}
COMITY_INTERPOSED void _pthread_cleanup_pop_restore(_pthread_cleanup_buffer *b, int execute) {
    thread *t = current_thread;
    if (!t) return next_pop_restore.get()(b, execute);
    t->cleanup_buffers = b->__prev;
    t->cancel_type = b->__canceltype;
    note_cancellation(t);
    if (execute) b->__routine(b->__arg);
    if (t->cancel_type == PTHREAD_CANCEL_ASYNCHRONOUS) test_cancel();
}

// NOLINTEND(readability-inconsistent-declaration-parameter-name)
