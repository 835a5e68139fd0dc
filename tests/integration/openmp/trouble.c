/* Regions in which something happens that ends, leaves or interrupts them. argv[1] names it; run.py knows what must
 * come out. */
#include "check.h"
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int sum_in_region(int ranks) {
    int sum = 0;
#pragma omp parallel num_threads(ranks) reduction(+ : sum)
    sum += omp_get_thread_num() + 1;
    return sum;
}

/* What the child of a fork may do: open regions. */
static int child_is_well(pid_t child) {
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void fork_outside(void) {
    CHECK_EQUAL(sum_in_region(4), 10);
    pid_t child = fork();
    if (child == 0) _exit(sum_in_region(4) == 10 && sum_in_region(7) == 28 ? 0 : 1);
    CHECK(child_is_well(child));
    CHECK_EQUAL(sum_in_region(4), 10);
}

static void fork_inside(void) {
    for (int round = 0; round < 20; round++) {
#pragma omp parallel num_threads(4)
        {
#pragma omp critical
            {
                pid_t child = fork(); /* while the others wait for the lock */
                if (child == 0) _exit(sum_in_region(3) == 6 && sum_in_region(5) == 15 ? 0 : 1);
                CHECK(child_is_well(child));
            }
        }
        CHECK_EQUAL(sum_in_region(4), 10);
    }
}

/* In the child the other rank is in a loop for good; the loops of its next regions have all their iterations. */
static int counted_in_loops(void) {
    for (int round = 0; round < 10; round++) {
        atomic_int count = 0;
#pragma omp parallel for num_threads(2) schedule(dynamic)
        for (int i = 0; i < 8; i++) atomic_fetch_add(&count, 1);
        if (atomic_load(&count) != 8) return 0;
    }
    return 1;
}

static void fork_beside_loop(void) {
    atomic_int begun = 0, forked = 0;
    pid_t child = -1;
#pragma omp parallel num_threads(2)
    {
        const int first = omp_get_thread_num() == 0;
        if (first) {
            while (!atomic_load(&begun)) sched_yield();
            child = fork();
            atomic_store(&forked, 1);
        }
        if (!first || child != 0) {
#pragma omp for schedule(dynamic) nowait
            for (int i = 0; i < 8; i++) {
                atomic_store(&begun, 1);
                while (!atomic_load(&forked)) sched_yield();
            }
        }
    }
    if (child == 0) _exit(counted_in_loops() ? 0 : 1);
    CHECK(child_is_well(child));
    CHECK(counted_in_loops());
}

/* Ranks that have not begun, others that are ready to go on, and regions of theirs: in the child none of them does. */
static void fork_among_many(void) {
    const pid_t parent = getpid();
    for (int round = 0; round < 10; round++) {
        const int forks = round % 2 ? 20 : 0;
#pragma omp parallel num_threads(40)
        {
            if (getpid() != parent) _exit(2);
            if (omp_get_thread_num() == forks) {
                pid_t child = fork();
                if (child == 0) {
                    for (int i = 0; i < 50; i++)
                        if (sum_in_region(3) != 6) _exit(1);
                    _exit(0);
                }
                CHECK(child_is_well(child));
            } else {
                (void)sum_in_region(2);
#pragma omp taskyield
            }
            if (getpid() != parent) _exit(3);
        }
    }
}

/* In the child the rank that has forked opens a region, and stands behind a rank of it that waits for it in a loop: it
 * has no kernel thread of its own there, so the other one has to leave the hart. */
static int wait_behind_a_loop(void) {
    atomic_int goes_on = 0, was_true = 0;
#pragma omp parallel num_threads(2)
    {
#pragma omp barrier
        if (omp_get_thread_num() == 0) atomic_store(&goes_on, 1);
        while (!atomic_load(&goes_on)) {
        }
        atomic_fetch_add(&was_true, 1);
    }
    return atomic_load(&was_true);
}

static void fork_then_wait(void) {
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1) {
        pid_t child = fork();
        if (child == 0) {
            alarm(30);
            for (int i = 0; i < 5; i++)
                if (wait_behind_a_loop() != 2) _exit(1);
            _exit(0);
        }
        CHECK(child_is_well(child));
    }
}

/* All ranks meet, in a loop of the program's: with fewer harts only Comity's watch brings them together. */
static void meet_in_region(void) {
    atomic_int here = 0;
#pragma omp parallel num_threads(4)
    {
        atomic_fetch_add(&here, 1);
        while (atomic_load(&here) < 4) {
        }
    }
}

static atomic_int enough_forks;
static void *meet_again_and_again(void *ignored) {
    while (!atomic_load(&enough_forks)) meet_in_region();
    return ignored;
}

static void fork_while_watched(void) {
    pthread_t other;
    CHECK(pthread_create(&other, NULL, meet_again_and_again, NULL) == 0);
    for (int i = 0; i < 100; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            meet_in_region();
            _exit(0);
        }
        CHECK(child_is_well(child));
    }
    atomic_store(&enough_forks, 1);
    pthread_join(other, NULL);
}

/* Others enter threadprivate variables and sets of CPUs meanwhile. In clang's interface, of which there is no header
 * here. */
enum { most_variables = 200000 };
static char variables[most_variables + 1];
static void *(*copy_of)(void *, int, void *, size_t, void ***);
static int (*set_affinity)(void **);
static void *all_cpus;

static void *ask_for_copies(void *ignored) {
    for (int i = 0; i < most_variables && !atomic_load(&enough_forks); i++)
        CHECK(copy_of(NULL, 0, &variables[i], 1, NULL) != NULL);
    return ignored;
}
static void *go_everywhere(void *ignored) {
    while (!atomic_load(&enough_forks)) CHECK_EQUAL(set_affinity(&all_cpus), 0);
    return ignored;
}

static void fork_among_lists(void) {
    int (*add)(int, void **) = (int (*)(int, void **))dlsym(RTLD_DEFAULT, "kmp_set_affinity_mask_proc");
    void (*create)(void **) = (void (*)(void **))dlsym(RTLD_DEFAULT, "kmp_create_affinity_mask");
    copy_of = (void *(*)(void *, int, void *, size_t, void ***))dlsym(RTLD_DEFAULT, "__kmpc_threadprivate_cached");
    set_affinity = (int (*)(void **))dlsym(RTLD_DEFAULT, "kmp_set_affinity");
    create(&all_cpus);
    for (int cpu = 0; cpu < 1024; cpu++) add(cpu, &all_cpus); /* those that there are */
    pthread_t others[2];
    CHECK(pthread_create(&others[0], NULL, ask_for_copies, NULL) == 0);
    CHECK(pthread_create(&others[1], NULL, go_everywhere, NULL) == 0);
    for (int i = 0; i < 100; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            _exit(copy_of(NULL, 0, &variables[most_variables], 1, NULL) && set_affinity(&all_cpus) == 0 ? 0 : 1);
        }
        CHECK(child_is_well(child));
    }
    atomic_store(&enough_forks, 1);
    for (int i = 0; i < 2; i++) pthread_join(others[i], NULL);
}

static void at_exit(void) { puts("left by exit"); }

static void exit_inside(void) {
    atexit(at_exit);
#pragma omp parallel num_threads(4)
    {
        if (omp_get_thread_num() == 2) exit(7);
#pragma omp barrier
    }
}

static volatile sig_atomic_t signals;
static void count_signal(int number) {
    (void)number;
    signals++;
}

static void signal_inside(void) {
    struct sigaction action = {0};
    action.sa_handler = count_signal;
    sigaction(SIGALRM, &action, NULL);
    struct itimerspec every = {{0, 200000}, {0, 200000}};
    timer_t timer;
    struct sigevent event = {0};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGALRM;
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    timer_settime(timer, 0, &every, NULL);
    long total = 0;
    while (signals < 200) {
        long sum = 0;
#pragma omp parallel num_threads(6) reduction(+ : sum)
        {
#pragma omp for schedule(dynamic)
            for (int i = 0; i < 100; i++) sum += i;
#pragma omp critical
            sum += 1;
        }
        CHECK_EQUAL(sum, 4956);
        total++;
    }
    timer_delete(timer);
    CHECK(total > 0);
}

// In the best of some spells: on a busy machine what came before may take long to come to rest.
static void idle(void) {
    enum { spells = 3 }; // less than a second in all
    const double most = 0.003;
    const struct timespec pause = {0, 20 * 1000 * 1000}, rest = {0, 300 * 1000 * 1000};
    CHECK_EQUAL(sum_in_region(8), 36);
    nanosleep(&pause, NULL);
    double used = 1;
    for (int i = 0; i < spells && used > most; ++i) {
        struct timespec begin, end;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
        nanosleep(&rest, NULL);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
        used = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
        if (used > most) fprintf(stderr, "%.1f ms of CPU time while idle\n", used * 1e3);
    }
    CHECK(used <= most);
}

static void show(void) {
    omp_sched_t kind;
    int chunk;
    omp_get_schedule(&kind, &chunk);
    printf("threads %d schedule %d,%d levels %d dynamic %d limit %d nested %d\n", omp_get_max_threads(), (int)kind,
           chunk, omp_get_max_active_levels(), omp_get_dynamic(), omp_get_thread_limit(), omp_get_nested());
    CHECK_EQUAL(sum_in_region(4), 10);
}

static void crowd(void) {
    int ranks = 0;
#pragma omp parallel reduction(+ : ranks)
    ranks++;
    printf("ranks %d\n", ranks);
    CHECK(ranks >= 1);
}

// From just above half of what a team could hold once, and in a few steps to more.
static void creep(void) {
    for (int wanted = 2040; wanted < 8000; wanted += wanted < 2100 ? 1 : 1000) {
        int ranks = 0;
#pragma omp parallel num_threads(wanted) reduction(+ : ranks)
        ranks++;
        CHECK_EQUAL(ranks, wanted);
    }
}

static void target_elsewhere(void) {
    int on_host = 0;
#pragma omp target device(3) map(tofrom : on_host)
    on_host = omp_is_initial_device();
    printf("on host %d\n", on_host);
    CHECK_EQUAL(omp_pause_resource(omp_pause_soft, 77), -1);
    CHECK_EQUAL(omp_pause_resource(omp_pause_soft, omp_get_initial_device()), 0);
}

static volatile int endless = 1;
static int too_deep(volatile char *above) {
    volatile char frame[4096];
    if (!endless) return 0;
    frame[0] = above ? above[0] : 1;
    return too_deep(frame) + frame[1];
}

static void overflow_inside(void) {
#pragma omp parallel num_threads(4)
    if (omp_get_thread_num() == 1) printf("%d\n", too_deep(NULL));
}

enum { deep_frame = 32 << 20 }; /* more than the usual 8 MiB */
static __attribute__((noinline)) long touch_frame(void) {
    volatile char frame[deep_frame];
    long touched = 0;
    for (long i = deep_frame - 1; i >= 0; i -= 1024) { /* downwards, as a stack grows */
        frame[i] = 1;
        touched += frame[i];
    }
    return touched;
}

static void deep_inside(void) {
    long touched = 0;
#pragma omp parallel num_threads(3) reduction(+ : touched)
    if (omp_get_thread_num() != 0) { /* rank 0 is on the program's own stack */
#pragma omp critical                 /* not all the memory at once */
        touched += touch_frame();
    }
    CHECK_EQUAL(touched, 2 * deep_frame / 1024);
}

static void places(void) {
    int inside = -1;
#pragma omp parallel num_threads(2)
#pragma omp single
    inside = omp_get_proc_bind();
    printf("bind %d inside %d places %d place %d partition %d", omp_get_proc_bind(), inside, omp_get_num_places(),
           omp_get_place_num(), omp_get_partition_num_places());
    int numbers[64], ids[64];
    omp_get_partition_place_nums(numbers);
    for (int i = 0; i < omp_get_partition_num_places(); ++i) {
        omp_get_place_proc_ids(numbers[i], ids);
        for (int j = 0; j < omp_get_place_num_procs(numbers[i]); ++j) printf("%s%d", j ? "," : " {", ids[j]);
        printf("}");
    }
    printf("\n");
    CHECK_EQUAL(omp_get_place_num_procs(-1), 0);
    CHECK_EQUAL(omp_get_place_num_procs(omp_get_num_places()), 0);
}

/* Every level has two threads, of which one goes on. */
static int nest(int depth, int who) {
    if (depth == 0) return omp_get_level();
    int found = 0;
#pragma omp parallel num_threads(2) reduction(+ : found)
    if (omp_get_thread_num() == who || omp_get_num_threads() == 1) found += nest(depth - 1, who);
    return found;
}

static void nest_deeply(void) {
    for (int round = 0; round < 2; round++)
        for (int who = 0; who < 2; who++) CHECK_EQUAL(nest(1000, who), 1000);
    CHECK_EQUAL(sum_in_region(4), 10);
}

static void strict(void) {
    void (*push)(void *, int, int, int, const char *) =
        (void (*)(void *, int, int, int, const char *))dlsym(RTLD_DEFAULT, "__kmpc_push_num_threads_strict");
    void (*fork_call)(void *, int, void (*)(int *, int *, ...), ...) =
        (void (*)(void *, int, void (*)(int *, int *, ...), ...))dlsym(RTLD_DEFAULT, "__kmpc_fork_call");
    extern void count_me(int *, int *, ...);
    for (int severity = 1; severity <= 2; severity++) {
        push(NULL, 0, 64, severity, "all of them, please");
        fork_call(NULL, 0, count_me);
        puts("went on");
        fflush(stdout);
    }
}
void count_me(int *number, int *rank, ...) { (void)number, (void)rank; }

static int ranks_of_number(int number, int by_call) {
    int ranks = 0;
    if (by_call) {
        omp_set_num_threads(number);
#pragma omp parallel
#pragma omp master
        ranks = omp_get_num_threads();
    } else {
#pragma omp parallel num_threads(number)
#pragma omp master
        ranks = omp_get_num_threads();
    }
    return ranks;
}
static void num_threads(void) {
    for (int i = 0; i < 2; i++) printf("ranks %d\n", ranks_of_number(atoi(getenv("NUMBER")), 0));
}
static void num_threads_set(void) {
    for (int i = 0; i < 2; i++) printf("ranks %d\n", ranks_of_number(atoi(getenv("NUMBER")), 1));
}

static void task_reduction(void) {
    long product = 1;
#pragma omp parallel num_threads(8) reduction(task, * : product)
    {
        product *= 2;
#pragma omp task in_reduction(* : product)
        product *= 3;
    }
    printf("product %ld\n", product);
}

static void openacc(void) {
    void (*wait)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "acc_wait_all");
    if (wait) wait();
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {{"fork_outside", fork_outside},
               {"fork_inside", fork_inside},
               {"fork_beside_loop", fork_beside_loop},
               {"fork_among_many", fork_among_many},
               {"fork_then_wait", fork_then_wait},
               {"fork_while_watched", fork_while_watched},
               {"fork_among_lists", fork_among_lists},
               {"exit_inside", exit_inside},
               {"signal_inside", signal_inside},
               {"idle", idle},
               {"show", show},
               {"crowd", crowd},
               {"creep", creep},
               {"target_elsewhere", target_elsewhere},
               {"task_reduction", task_reduction},
               {"num_threads", num_threads},
               {"num_threads_set", num_threads_set},
               {"overflow_inside", overflow_inside},
               {"deep_inside", deep_inside},
               {"places", places},
               {"nest_deeply", nest_deeply},
               {"strict", strict},
               {"openacc", openacc}};
    witness_comity();
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (argc > 1 && !strcmp(all[i].name, argv[1])) {
            all[i].run();
            return report();
        }
    return 98;
}
