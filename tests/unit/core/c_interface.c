/* A scheduler in C: its registrant starts one context and waits for it. Compiling this shows that comity/core.h is C.
 */
#include "comity/core.h"

#include <stddef.h>

struct scheduler {
    comity_sched_t sched; /* first: the callbacks get its address */
    comity_context_t *fresh, *ready;
    int entered, done;
};

static void body(void *arg);

static void next(struct scheduler *s) {
    comity_context_t *c;
    if ((c = s->fresh)) {
        s->fresh = NULL;
        comity_context_run(c, body, s);
    }
    if ((c = s->ready)) {
        s->ready = NULL;
        comity_context_resume(c);
    }
    comity_sched_yield();
}

static void ended(comity_context_t *context, void *arg) {
    (void)context;
    next(arg);
}

static void body(void *arg) {
    struct scheduler *s = arg;
    s->done = 1;
    comity_context_exit(ended, s);
}

static void on_enter(comity_sched_t *self) { next((struct scheduler *)self); }
static void on_yield(comity_sched_t *self, comity_sched_t *child) {
    (void)child;
    next((struct scheduler *)self);
}
static void on_block(comity_sched_t *self, comity_context_t *context) {
    (void)context;
    next((struct scheduler *)self);
}
static void on_unblock(comity_sched_t *self, comity_context_t *context) { ((struct scheduler *)self)->ready = context; }
static void on_request(comity_sched_t *self, comity_sched_t *child, int harts) {
    (void)self;
    (void)child;
    (void)harts;
}

static void wait_for_body(comity_context_t *self, void *arg) {
    comity_context_unblock(self); /* it comes after the fresh one */
    comity_context_block(self);
    (void)arg;
}

int run_scheduler_in_c(void) {
    static const comity_sched_callbacks_t callbacks = {NULL,     NULL,     on_request, on_enter,
                                                       on_yield, on_block, on_unblock};
    struct scheduler s = {0};
    if (comity_context_init(&s.fresh, NULL) != 0) return 0;
    comity_context_t *const context = s.fresh;
    comity_sched_register(&s.sched, &callbacks);
    comity_context_pause(wait_for_body, &s);
    comity_sched_unregister();
    comity_context_fini(context);
    return s.done;
}
