/* What the specification forbids, in functions that no compiler sees through. argv[1] names it; nesting_test.py knows
 * what must be said. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline))
static volatile long sink;

APART static void touch(void) {
    sink = 1;
    __asm__ volatile("" ::: "memory");
}
APART static void barrier(void) {
    touch();
#pragma omp barrier
    touch();
}
APART static void loop(void) {
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 8; i++) touch();
    touch();
}
APART static void static_loop(void) {
#pragma omp for schedule(static)
    for (int i = 0; i < 8; i++) touch();
    touch();
}
APART static void sections(void) {
#pragma omp sections
    {
#pragma omp section
        touch();
#pragma omp section
        touch();
    }
    touch();
}
APART static void single(void) {
#pragma omp single
    touch();
    touch();
}
APART static void ordered(void) {
#pragma omp ordered
    touch();
    touch();
}
APART static void master(void) {
#pragma omp master
    touch();
    touch();
}
APART static void critical(void) {
#pragma omp critical(name)
    touch();
    touch();
}
APART static void nothing(void) { touch(); }

/* ---- What is around. */
typedef void (*function)(void);
static void in_parallel(function f) {
#pragma omp parallel num_threads(3)
    f();
}
static void in_loop(function f) {
#pragma omp parallel num_threads(3)
    {
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 3; i++) f();
    }
}
static void in_static_loop(function f) {
#pragma omp parallel num_threads(3)
    {
#pragma omp for schedule(static)
        for (int i = 0; i < 3; i++) f();
    }
}
static void in_ordered_loop(function f) {
#pragma omp parallel num_threads(3)
    {
#pragma omp for schedule(dynamic) ordered
        for (int i = 0; i < 3; i++) f();
    }
}
static void in_doacross(function f) {
#pragma omp parallel num_threads(3)
    {
#pragma omp for ordered(1)
        for (int i = 0; i < 3; i++) {
            f();
#pragma omp ordered depend(source)
        }
    }
}
static void in_sections(function f) {
#pragma omp parallel num_threads(3)
    {
#pragma omp sections
        {
#pragma omp section
            f();
#pragma omp section
            f();
        }
    }
}
static void in_single(function f) {
#pragma omp parallel num_threads(3)
    {
#pragma omp single
        f();
    }
}
static void in_critical(function f) {
#pragma omp parallel num_threads(3)
    {
#pragma omp critical(name)
        f();
    }
}
static void in_other_critical(function f) {
#pragma omp parallel num_threads(3)
    {
#pragma omp critical(other)
        f();
    }
}
static void in_ordered(function f) {
#pragma omp parallel num_threads(3)
    {
#pragma omp for schedule(dynamic) ordered
        for (int i = 0; i < 3; i++) {
#pragma omp ordered
            f();
        }
    }
}
static void in_master(function f) {
#pragma omp parallel num_threads(3)
    {
#pragma omp master
        f();
    }
}
static void in_task(function f) {
#pragma omp parallel num_threads(3)
    {
#pragma omp single
        {
#pragma omp task
            f();
        }
    }
}
/* A region of its own: its constructs bind to that. */
static function inside;
APART static void region(void) {
#pragma omp parallel num_threads(2)
    inside();
}

/* Thread 0 comes to one barrier more. */
static void other_barriers(void) {
#pragma omp parallel num_threads(2)
    {
#pragma omp barrier
        if (omp_get_thread_num() == 0) barrier();
#pragma omp barrier
        touch();
    }
}

/* ---- Locks. */
static omp_lock_t lock;
static omp_nest_lock_t nested;
static void set_twice(void) { omp_init_lock(&lock), omp_set_lock(&lock), omp_set_lock(&lock); }
static void unset_free(void) { omp_init_lock(&lock), omp_unset_lock(&lock); }
static void unset_by_another(void) {
    omp_init_lock(&lock);
    omp_set_lock(&lock);
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1) {
        omp_unset_lock(&lock);
        touch();
    }
}
static void destroy_held(void) { omp_init_lock(&lock), omp_set_lock(&lock), omp_destroy_lock(&lock); }
static void unset_free_nested(void) { omp_init_nest_lock(&nested), omp_unset_nest_lock(&nested); }
static void unset_nested_by_another(void) {
    omp_init_nest_lock(&nested);
    omp_set_nest_lock(&nested);
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1) {
        omp_unset_nest_lock(&nested);
        touch();
    }
}
static void destroy_held_nested(void) {
    omp_init_nest_lock(&nested), omp_set_nest_lock(&nested), omp_destroy_nest_lock(&nested);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        function f;
    } inner[] = {{"barrier", barrier}, {"loop", loop},       {"static_loop", static_loop}, {"sections", sections},
                 {"single", single},   {"ordered", ordered}, {"master", master},           {"critical", critical},
                 {"nothing", nothing}, {"region", region}};
    static const struct {
        const char *name;
        void (*f)(function);
    } outer[] = {{"parallel", in_parallel},
                 {"loop", in_loop},
                 {"static_loop", in_static_loop},
                 {"ordered_loop", in_ordered_loop},
                 {"doacross", in_doacross},
                 {"sections", in_sections},
                 {"single", in_single},
                 {"critical", in_critical},
                 {"other_critical", in_other_critical},
                 {"ordered", in_ordered},
                 {"master", in_master},
                 {"task", in_task}};
    static const struct {
        const char *name;
        function f;
    } whole[] = {{"other_barriers", other_barriers},
                 {"set_twice", set_twice},
                 {"unset_free", unset_free},
                 {"unset_by_another", unset_by_another},
                 {"destroy_held", destroy_held},
                 {"unset_free_nested", unset_free_nested},
                 {"unset_nested_by_another", unset_nested_by_another},
                 {"destroy_held_nested", destroy_held_nested}};
    if (argc < 2) return 2;
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (!strcmp(argv[1], whole[i].name)) {
            whole[i].f();
            puts("went on");
            return 0;
        }
    if (argc < 3) return 2;
    function f = NULL;
    for (size_t i = 0; i < sizeof inner / sizeof *inner; i++) {
        if (!strcmp(argv[2], inner[i].name)) f = inner[i].f;
        if (argc > 3 && !strcmp(argv[3], inner[i].name)) inside = inner[i].f;
    }
    if (!f) return 2;
    for (size_t i = 0; i < sizeof outer / sizeof *outer; i++)
        if (!strcmp(argv[1], outer[i].name)) {
            outer[i].f(f);
            puts("went on");
            return 0;
        }
    return 2;
}
