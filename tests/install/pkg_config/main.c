#include <comity/core.h>
#include <comity/version.h>
#include <stdio.h>
#include <string.h>

static void transfer(comity_sched_t *self) { (void)self, comity_sched_yield(); }
static void returned(comity_sched_t *self, comity_sched_t *child) { (void)self, (void)child, comity_sched_yield(); }
static void stopped(comity_sched_t *self, comity_context_t *context) {
    (void)self, (void)context, comity_sched_yield();
}
static void update(comity_sched_t *self, comity_sched_t *child) { (void)self, (void)child; }
static void requested(comity_sched_t *self, comity_sched_t *child, int harts) { (void)self, (void)child, (void)harts; }
static void ready(comity_sched_t *self, comity_context_t *context) { (void)self, (void)context; }

/* argv[1] is the version that pkg-config told. A scheduler that does nothing is registered and leaves. */
int main(int argc, char **argv) {
    static const comity_sched_callbacks_t callbacks = {update, update, requested, transfer, returned, stopped, ready};
    comity_sched_t sched;

    printf("linked with Comity %s\n", comity_version());
    if (argc != 2 || strcmp(argv[1], comity_version()) != 0) return 1;
    comity_sched_register(&sched, &callbacks);
    if (comity_sched_current() != &sched || comity_hart_id() < 0) return 2;
    comity_sched_unregister();
    return comity_sched_current() == &sched ? 3 : 0;
}
