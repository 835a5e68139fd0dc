/* A tool within the program: that begins have ends, that what a callback is told is what the program sees, and that the
 * data of threads, regions and tasks is that of those which are reported. */
#include "check.h"
#include <omp-tools.h>
#include <omp.h>
#include <unistd.h>

static int threads;

static ompt_get_thread_data_t get_thread_data;
static ompt_get_parallel_info_t get_parallel_info;
static ompt_get_task_info_t get_task_info;
static ompt_get_state_t get_state;
static ompt_get_unique_id_t get_unique_id;
static ompt_set_callback_t set_callback;
static ompt_get_callback_t get_callback;

/* What a thread, a region and a task carry in their data. */
struct thread_record {
    int alive, depth; /* depth: of synchronization */
};
struct region_record {
    int alive, ranks, ended, is_league;
};
struct task_record {
    int alive, runs, made;
};

static __thread struct thread_record *mine; /* the tool's own storage */
static int initial_threads, workers, ended_threads, regions, ended_regions, implicit_tasks, ended_implicit_tasks, made,
    completed, leagues, ended_leagues, teams, ended_teams, switched, dependences, pairs, acquired, released, works,
    ended_works, waits, ended_waits, reports;

#define COUNT(what) __atomic_fetch_add(&(what), 1, __ATOMIC_RELAXED)

static void *record(size_t size) {
    int *made_record = calloc(1, size);
    if (!made_record) abort();
    *made_record = 1; /* alive */
    return made_record;
}

/* In each callback: the thread's data is the one that the tool's thread-local storage knows. */
static void check_thread(void) {
    COUNT(reports);
    CHECK(get_thread_data()->ptr == mine);
    CHECK(mine && mine->alive);
}

static void thread_begin(ompt_thread_t kind, ompt_data_t *data) {
    CHECK(!data->ptr && !mine);
    data->ptr = mine = record(sizeof *mine);
    if (kind == ompt_thread_initial)
        COUNT(initial_threads);
    else
        COUNT(workers);
    CHECK(kind == ompt_thread_initial || kind == ompt_thread_worker);
    check_thread();
}

static void thread_end(ompt_data_t *data) {
    struct thread_record *t = data->ptr; /* perhaps by another thread, as the process ends */
    CHECK(get_thread_data() == data);
    CHECK(t->alive);
    t->alive = 0;
    COUNT(ended_threads);
}

static void parallel_begin(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *parallel, unsigned requested,
                           int flags, const void *caller) {
    check_thread();
    CHECK(!parallel->ptr && task && caller && frame->enter_frame.ptr && requested);
    CHECK(!(flags & ompt_parallel_team) != !(flags & ompt_parallel_league));
    ompt_data_t *current = NULL;
    CHECK(get_task_info(0, NULL, &current, NULL, NULL, NULL) == 2 && current == task);
    struct region_record *r = parallel->ptr = record(sizeof(struct region_record));
    r->is_league = (flags & ompt_parallel_league) != 0;
    if (r->is_league)
        COUNT(leagues);
    else
        COUNT(regions);
}

static void parallel_end(ompt_data_t *parallel, ompt_data_t *task, int flags, const void *caller) {
    check_thread();
    struct region_record *r = parallel->ptr;
    ompt_data_t *current = NULL;
    CHECK(get_task_info(0, NULL, &current, NULL, NULL, NULL) == 2 && current == task);
    CHECK(caller && r->alive && r->is_league == ((flags & ompt_parallel_league) != 0));
    CHECK_EQUAL(r->ended, r->ranks);
    if (r->is_league)
        COUNT(ended_leagues);
    else
        COUNT(ended_regions);
    free(r);
    parallel->ptr = NULL;
}

/* The initial task of a team. */
static void team(ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task, unsigned size,
                 unsigned number) {
    ompt_data_t *league = NULL, *current = NULL;
    int leagues_size = 0, flags = 0, index = -1;
    check_thread();
    CHECK(get_parallel_info(0, &league, &leagues_size) == 2);
    CHECK(get_task_info(0, &flags, &current, NULL, NULL, &index) == 2);
    CHECK(current == task && (flags & ompt_task_initial) && index == (int)number);
    struct region_record *r = league->ptr;
    CHECK(r && r->alive && r->is_league && (int)number < leagues_size);
    if (endpoint == ompt_scope_begin) {
        CHECK(parallel == league && !task->ptr && (int)size == leagues_size);
        task->ptr = record(sizeof(struct task_record));
        COUNT(r->ranks);
        COUNT(teams);
    } else {
        CHECK(!parallel && task->ptr);
        free(task->ptr);
        COUNT(ended_teams);
        __atomic_fetch_add(&r->ended, 1, __ATOMIC_RELEASE);
    }
}

static void implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task, unsigned size,
                          unsigned rank, int flags) {
    if (flags & ompt_task_initial) {
        if (parallel ? parallel->ptr : task->ptr) team(endpoint, parallel, task, size, rank); /* else the program's */
        return;
    }
    check_thread();
    ompt_data_t *region = NULL;
    CHECK(get_parallel_info(0, &region, NULL) == 2);
    struct region_record *r = region->ptr;
    CHECK(r && r->alive && rank < size);
    if (endpoint == ompt_scope_begin) {
        CHECK(parallel == region && !task->ptr);
        task->ptr = record(sizeof(struct task_record));
        COUNT(r->ranks);
        COUNT(implicit_tasks);
    } else {
        CHECK(!parallel);
        free(task->ptr);
        COUNT(ended_implicit_tasks);
        __atomic_fetch_add(&r->ended, 1, __ATOMIC_RELEASE);
    }
}

static void task_create(ompt_data_t *parent, const ompt_frame_t *frame, ompt_data_t *task, int flags, int depends,
                        const void *caller) {
    check_thread();
    (void)frame, (void)depends;
    CHECK(parent && !task->ptr && caller);
    if (flags & ompt_task_explicit) {
        task->ptr = record(sizeof(struct task_record));
        COUNT(made);
    }
}

static void task_schedule(ompt_data_t *prior, ompt_task_status_t status, ompt_data_t *next) {
    check_thread();
    if (status == ompt_task_complete) {
        struct task_record *t = prior->ptr;
        CHECK(t && t->alive && t->runs == 1);
        free(t);
        COUNT(completed);
    } else if (status == ompt_task_switch || status == ompt_task_yield) {
        struct task_record *t = next->ptr;
        CHECK(t && t->alive && t->runs == 0);
        t->runs++;
        COUNT(switched);
    }
}

static void depends_on(ompt_data_t *task, const ompt_dependence_t *list, int count) {
    check_thread();
    CHECK(task && list && count > 0);
    COUNT(dependences);
}

static void pair(ompt_data_t *earlier, ompt_data_t *later) {
    check_thread();
    CHECK(earlier->ptr && later->ptr && earlier->ptr != later->ptr);
    COUNT(pairs);
}

static void sync_wait(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task,
                      const void *caller) {
    check_thread();
    (void)kind, (void)parallel, (void)caller;
    CHECK(task != NULL);
    if (endpoint == ompt_scope_begin)
        COUNT(waits);
    else
        COUNT(ended_waits);
}

static void mutex_acquired(ompt_mutex_t kind, ompt_wait_id_t id, const void *caller) {
    check_thread();
    CHECK(kind && id && caller);
    COUNT(acquired);
}
static void mutex_released(ompt_mutex_t kind, ompt_wait_id_t id, const void *caller) {
    check_thread();
    CHECK(kind && id && caller);
    COUNT(released);
}

static void work(ompt_work_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task,
                 uint64_t count, const void *caller) {
    check_thread();
    (void)kind, (void)count;
    CHECK(parallel->ptr && task->ptr && caller);
    if (endpoint == ompt_scope_begin)
        COUNT(works);
    else
        COUNT(ended_works);
}

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *data) {
    (void)data;
    CHECK_EQUAL(device, 0);
    get_thread_data = (ompt_get_thread_data_t)lookup("ompt_get_thread_data");
    get_parallel_info = (ompt_get_parallel_info_t)lookup("ompt_get_parallel_info");
    get_task_info = (ompt_get_task_info_t)lookup("ompt_get_task_info");
    get_state = (ompt_get_state_t)lookup("ompt_get_state");
    get_unique_id = (ompt_get_unique_id_t)lookup("ompt_get_unique_id");
    set_callback = (ompt_set_callback_t)lookup("ompt_set_callback");
    get_callback = (ompt_get_callback_t)lookup("ompt_get_callback");
    CHECK(!lookup("ompt_no_such_function"));
#define SET(event, function, result) CHECK_EQUAL(set_callback(event, (ompt_callback_t)(function)), result)
    SET(ompt_callback_thread_begin, thread_begin, ompt_set_always);
    SET(ompt_callback_thread_end, thread_end, ompt_set_always);
    SET(ompt_callback_parallel_begin, parallel_begin, ompt_set_always);
    SET(ompt_callback_parallel_end, parallel_end, ompt_set_always);
    SET(ompt_callback_implicit_task, implicit_task, ompt_set_always);
    SET(ompt_callback_task_create, task_create, ompt_set_always);
    SET(ompt_callback_task_schedule, task_schedule, ompt_set_always);
    SET(ompt_callback_dependences, depends_on, ompt_set_always);
    SET(ompt_callback_task_dependence, pair, ompt_set_sometimes);
    SET(ompt_callback_sync_region_wait, sync_wait, ompt_set_always);
    SET(ompt_callback_mutex_acquired, mutex_acquired, ompt_set_sometimes);
    SET(ompt_callback_mutex_released, mutex_released, ompt_set_sometimes);
    SET(ompt_callback_work, work, ompt_set_sometimes_paired);
    SET(ompt_callback_target, work, ompt_set_never);
    CHECK_EQUAL(set_callback((ompt_callbacks_t)99, NULL), ompt_set_error);
    ompt_callback_t set = NULL;
    CHECK(get_callback(ompt_callback_work, &set) && set == (ompt_callback_t)work);
    CHECK(!get_callback(ompt_callback_target, &set));
    return 1;
}

static void finalize(ompt_data_t *data) {
    (void)data;
    CHECK_EQUAL(ended_threads, initial_threads + workers);
    CHECK_EQUAL(ended_regions, regions);
    CHECK_EQUAL(ended_teams, teams);
    if (report()) _exit(1);
    printf("finalized: %d reports\n", reports);
    fflush(stdout);
}

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime) {
    static ompt_start_tool_result_t tool = {initialize, finalize, {0}};
    CHECK(version >= 202111 && strstr(runtime, "Comity"));
    return &tool;
}

/* ---- What the program does, and sees by itself */

static int fib(int n) {
    if (n < 2) return n;
    int a, b;
#pragma omp task shared(a)
    a = fib(n - 1);
#pragma omp task shared(b)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

static void where_am_i(int levels) {
    int size = 0, flags = 0, rank = -1;
    ompt_data_t *parallel = NULL, *task = NULL;
    ompt_frame_t *frame = NULL;
    CHECK_EQUAL(get_parallel_info(0, &parallel, &size), 2);
    CHECK_EQUAL(size, omp_get_num_threads());
    CHECK_EQUAL(get_task_info(0, &flags, &task, &frame, &parallel, &rank), 2);
    CHECK_EQUAL(rank, omp_get_thread_num());
    CHECK((flags & ompt_task_implicit) && frame->exit_frame.ptr && !frame->enter_frame.ptr && task->ptr);
    CHECK(get_parallel_info(levels, &parallel, &size) == 2 && size == 1);
    CHECK_EQUAL(get_parallel_info(levels + 1, &parallel, &size), 0);
    CHECK_EQUAL(get_task_info(levels, &flags, &task, &frame, &parallel, &rank), 2);
    CHECK(flags & ompt_task_initial);
    CHECK_EQUAL(get_task_info(levels + 1, NULL, NULL, NULL, NULL, NULL), 0);
    CHECK_EQUAL(get_state(NULL), ompt_state_work_parallel);
}

static void regions_and_their_ranks(void) {
    int before = implicit_tasks;
#pragma omp parallel num_threads(threads)
    {
        where_am_i(1);
#pragma omp barrier
#pragma omp parallel num_threads(2)
        where_am_i(2);
        where_am_i(1);
    }
    CHECK_EQUAL(implicit_tasks - before, 3 * threads);
}

static void tasks_of_all_kinds(void) {
    int before = made, result = 0, x = 0, was_switched = switched;
#pragma omp parallel num_threads(threads)
#pragma omp single
    {
        result = fib(10);
        for (int i = 0; i < 20; i++) {
#pragma omp task depend(inout : x)
            x++;
        }
#pragma omp task if (0)
        x += 0;
#pragma omp taskgroup
        {
#pragma omp task final(1)
            {
#pragma omp task
                CHECK(omp_in_final());
            }
        }
    }
    CHECK_EQUAL(result, 55);
    CHECK_EQUAL(x, 20);
    CHECK_EQUAL(made - before, 176 + 20 + 1 + 2);
    CHECK_EQUAL(completed, made);
    CHECK_EQUAL(switched - was_switched, made - before);
    CHECK_EQUAL(dependences % 20, 0);
}

static void locks_and_loops(void) {
    omp_lock_t lock;
    int sum = 0, locked = 0, critical = 0, before = acquired, began = works;
    omp_init_lock(&lock);
#pragma omp parallel num_threads(threads)
    {
        omp_set_lock(&lock);
        locked++;
        omp_unset_lock(&lock);
#pragma omp critical
        critical++;
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 100; i++) {
#pragma omp atomic
            sum++;
        }
    }
    omp_destroy_lock(&lock);
    CHECK_EQUAL(sum, 100);
    CHECK_EQUAL(locked, threads);
    CHECK_EQUAL(critical, threads);
    CHECK_EQUAL(acquired - before, 2 * threads);
    CHECK_EQUAL(released, acquired);
    CHECK_EQUAL(works - began, threads);
    CHECK_EQUAL(ended_works, works);
}

/* LLVM's ABI has a region of one thread in each team, as the original has. */
#ifdef __clang__
enum { regions_in_team = 1 };
#else
enum { regions_in_team = 0 };
#endif

/* The team's initial task, the league, and the task that encountered it, which is `out` levels from the program's. */
static void where_in_the_league(int teams_expected, int out) {
    int size = 0, flags = 0, number = -1;
    ompt_data_t *league = NULL, *of_task = NULL, *task = NULL, *around = NULL;
    CHECK_EQUAL(get_parallel_info(regions_in_team, &league, &size), 2);
    CHECK_EQUAL(size, teams_expected);
    CHECK_EQUAL(get_task_info(regions_in_team, &flags, &task, NULL, &of_task, &number), 2);
    CHECK((flags & ompt_task_initial) && task->ptr && of_task == league && league->ptr);
    CHECK_EQUAL(number, omp_get_team_num());
    for (int level = 0; level < regions_in_team; level++) {
        CHECK(get_parallel_info(level, NULL, &size) == 2 && size == 1);
        CHECK(get_task_info(level, &flags, NULL, NULL, NULL, NULL) == 2 && (flags & ompt_task_implicit));
    }
    CHECK_EQUAL(get_task_info(regions_in_team + 1, &flags, &around, NULL, NULL, NULL), 2);
    CHECK(around != task && (flags & (out ? ompt_task_implicit : ompt_task_initial)));
    CHECK(get_task_info(regions_in_team + 1 + out, &flags, NULL, NULL, NULL, NULL) == 2 && (flags & ompt_task_initial));
    CHECK_EQUAL(get_task_info(regions_in_team + 2 + out, NULL, NULL, NULL, NULL, NULL), 0);
    CHECK_EQUAL(get_parallel_info(regions_in_team + 2 + out, NULL, NULL), 0);
}

static void leagues_are_told(int begun, int teams_before, int leagues_expected, int teams_expected) {
    CHECK_EQUAL(leagues - begun, leagues_expected);
    CHECK_EQUAL(ended_leagues, leagues);
    CHECK_EQUAL(teams - teams_before, teams_expected);
    CHECK_EQUAL(ended_teams, teams);
}

static void regions_in_a_league(void) {
    int before = regions, ended = ended_implicit_tasks, sum = 0, begun = leagues, teams_before = teams;
#pragma omp teams num_teams(3) thread_limit(4) shared(sum)
    {
        where_in_the_league(3, 0);
#pragma omp parallel num_threads(2) shared(sum)
        {
#pragma omp critical
            sum++;
        }
        where_in_the_league(3, 0);
    }
    CHECK_EQUAL(sum, 6);
    CHECK_EQUAL(regions - before, 3 + 3 * regions_in_team);
    CHECK_EQUAL(ended_implicit_tasks - ended, 6 + 3 * regions_in_team);
    leagues_are_told(begun, teams_before, 1, 3);
}

static void leagues_of_one_and_of_many(void) {
    int begun = leagues, teams_before = teams, ran = 0, tasks_before = completed;
#pragma omp teams num_teams(1) shared(ran)
    {
        where_in_the_league(1, 0);
        ran += fib(5) == 5; /* its tasks are the initial task's */
    }
#pragma omp teams num_teams(50) thread_limit(1) shared(ran)
    {
        where_in_the_league(50, 0);
        COUNT(ran);
    }
    CHECK_EQUAL(ran, 51);
    CHECK_EQUAL(completed - tasks_before, 14);
    leagues_are_told(begun, teams_before, 2, 51);
}

/* A target region's league is the teams construct's in LLVM's ABI. gcc's code goes from team to team by itself. */
static void leagues_in_a_region(void) {
    int begun = leagues, teams_before = teams;
#pragma omp parallel num_threads(2)
    {
#pragma omp target teams num_teams(2)
        where_in_the_league(2, 1);
        where_am_i(1);
    }
    leagues_are_told(begun, teams_before, 2, 4);
}

static void leagues_in_target_regions(void) {
    int begun = leagues, teams_before = teams, tasks_before = completed, sum = 0;
#pragma omp target teams num_teams(3) map(tofrom : sum)
    {
        where_in_the_league(3, 0);
        fib(5);
#pragma omp parallel num_threads(2)
        {
#pragma omp atomic
            sum++;
        }
        where_in_the_league(3, 0);
    }
#pragma omp target teams num_teams(1)
    where_in_the_league(1, 0);
    CHECK_EQUAL(sum, 6);
    CHECK_EQUAL(completed - tasks_before, 3 * 14);
    leagues_are_told(begun, teams_before, 2, 4);
}

int main(int argc, char **argv) {
    witness_comity();
    threads = argc > 1 ? atoi(argv[1]) : 4;
    omp_set_max_active_levels(4);
    if (!get_thread_data) {
        fprintf(stderr, "the tool was not found\n");
        return 1;
    }
    regions_in_a_league(); /* its teams' threads are new */
    for (int round = 0; round < 3; round++) {
        regions_and_their_ranks();
        tasks_of_all_kinds();
        locks_and_loops();
        leagues_in_a_region();
        leagues_in_target_regions();
        CHECK_EQUAL(ended_regions, regions);
        CHECK_EQUAL(ended_implicit_tasks, implicit_tasks);
        CHECK_EQUAL(ended_waits, waits);
    }
    CHECK_EQUAL(initial_threads, 1);
    /* In the outer region (or league) all but the first, and in each one's inner region one. */
    CHECK_EQUAL(workers, (threads > 3 ? threads : 3) - 1 + (threads > 3 ? threads : 3));
    leagues_of_one_and_of_many();
    CHECK_EQUAL(ended_waits, waits);
    CHECK(get_unique_id() != get_unique_id());
    return report();
}
