/* What only LLVM's ABI has, or does by other means than gcc's: entries with many arguments, threadprivate by calls,
 * static loops that are cancelled, leagues, doacross nests by value, atomics by calls, and the kmp_* functions.
 * Compiled with -fnoopenmp-use-tls. */
#include "check.h"
#include <complex.h>
#include <omp.h>

static int threads = 4;

/* ---- Regions ------------------------------------------------------------------------------------------------------
 */

#define TEN(F, n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7) F(n##8) F(n##9)
#define SEVENTY(F) TEN(F, 1) TEN(F, 2) TEN(F, 3) TEN(F, 4) TEN(F, 5) TEN(F, 6) TEN(F, 7)

static void regions_have_as_many_variables_as_they_need(void) {
#define DECLARE(n) int v##n = n;
#define COUNT(n) __atomic_fetch_add(&v##n, 1, __ATOMIC_RELAXED);
#define LOOK(n) CHECK_EQUAL(v##n, n + threads);
#define FEW(F) F(10) F(11) F(12) F(13) F(14) F(15) F(16) F(17) F(18) F(19) F(20) F(21) F(22) F(23) F(24) F(25) F(26)
    {SEVENTY(DECLARE)
#pragma omp parallel num_threads(threads)
         {SEVENTY(COUNT)} SEVENTY(LOOK)} {
        FEW(DECLARE)
#pragma omp parallel num_threads(threads)
            {FEW(COUNT)} FEW(LOOK)
    }
}

static void a_region_with_a_false_condition_is_one_thread(void) {
    int level = -1, active = -1, size = -1, inner = 0;
#pragma omp parallel num_threads(threads) if (threads > 1000000)
    {
        level = omp_get_level();
        active = omp_get_active_level();
        size = omp_get_num_threads();
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 10; i++) inner += i;
#pragma omp single
        inner += 1000;
#pragma omp parallel num_threads(2)
#pragma omp atomic
        inner += 10000;
    }
    CHECK_EQUAL(level, 1);
    CHECK_EQUAL(active, 0);
    CHECK_EQUAL(size, 1);
    CHECK_EQUAL(inner, 45 + 1000 + 20000);
    CHECK_EQUAL(omp_get_level(), 0);
}

static int counter = 5;
static struct pair { int a, b; } both = {1, 2};
#pragma omp threadprivate(counter, both)

static void threadprivate_variables_are_each_threads_own(void) {
    int sum = 0, first = 0;
    counter = 100;
#pragma omp parallel num_threads(threads) reduction(+ : sum, first)
    {
        first += both.a + both.b;
        counter = 10 * omp_get_thread_num();
        both.a = omp_get_thread_num();
#pragma omp barrier
        sum += counter == 10 * omp_get_thread_num() && both.a == omp_get_thread_num();
    }
    CHECK_EQUAL(sum, threads);
    CHECK_EQUAL(first, 3 * threads);
    sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum) /* the same threads */
    sum += counter == 10 * omp_get_thread_num();
    CHECK_EQUAL(sum, threads);
    counter = 7;
#pragma omp parallel num_threads(threads) copyin(counter) reduction(+ : sum)
    sum += counter;
    CHECK_EQUAL(sum, 8 * threads);
    both.a = 1;
}

/* ---- Loops --------------------------------------------------------------------------------------------------------
 */

/* clang 14 has no syntax for it yet, nor has the library that the program is linked with. */
__attribute__((weak)) void __kmpc_push_num_threads_list(void *, int, unsigned, const int *);
__attribute__((weak)) void __kmpc_push_num_threads_strict(void *, int, int, int, const char *);

static void num_threads_may_be_a_list(void) {
    const int list[] = {2, 3, 4};
    int outer = 0, middle = 0, inner = 0, after = 0;
    omp_set_max_active_levels(4);
    __kmpc_push_num_threads_list(NULL, 0, 3, list);
#pragma omp parallel reduction(+ : outer, middle, inner)
    {
        outer++;
#pragma omp parallel reduction(+ : middle, inner)
        {
            middle++;
#pragma omp parallel reduction(+ : inner)
            inner++;
        }
    }
    CHECK_EQUAL(outer, 2);
    CHECK_EQUAL(middle, 6);
    CHECK_EQUAL(inner, 24);
    __kmpc_push_num_threads_strict(NULL, 0, 5, 2, "five or none");
#pragma omp parallel reduction(+ : after)
    after++;
    CHECK_EQUAL(after, 5);
    after = 0;
#pragma omp parallel num_threads(2) reduction(+ : after)
#pragma omp parallel reduction(+ : after)
    after++;
    CHECK_EQUAL(after, 2 * omp_get_max_threads());
}

static void leagues_deal_out_their_loops(void) {
    int done[1000] = {0}, teams = 0;
#pragma omp teams num_teams(3) thread_limit(4)
    {
        __atomic_fetch_add(&teams, omp_get_num_teams(), __ATOMIC_RELAXED); /* teams are not at the same loop */
#pragma omp distribute parallel for
        for (int i = 0; i < 1000; i++) __atomic_fetch_add(&done[i], 1, __ATOMIC_RELAXED);
#pragma omp distribute parallel for dist_schedule(static, 7) schedule(dynamic, 2)
        for (int i = 999; i >= 0; i--) __atomic_fetch_add(&done[i], 1, __ATOMIC_RELAXED);
#pragma omp distribute dist_schedule(static, 10)
        for (long i = 0; i < 1000; i += 3) __atomic_fetch_add(&done[i], 10, __ATOMIC_RELAXED);
#pragma omp distribute
        for (unsigned i = 0; i < 2; i++) __atomic_fetch_add(&done[i], 100, __ATOMIC_RELAXED);
    }
    CHECK_EQUAL(teams, 9);
    for (int i = 0; i < 1000; i++) CHECK_EQUAL(done[i], 2 + (i % 3 == 0 ? 10 : 0) + (i < 2 ? 100 : 0));
    CHECK_EQUAL(omp_get_num_teams(), 1);
}

static void static_loops_are_dealt_out_whole(void) {
    static signed char small[256];
    memset(small, 0, sizeof small);
    unsigned long long wide = 0;
    int reversed = 0, chunked = 0, simd = 0, empty = 0;
#pragma omp parallel num_threads(threads) reduction(+ : wide, reversed, chunked, simd, empty)
    {
#pragma omp for
        for (int i = 0; i < 256; i++) small[i]++;
#pragma omp for
        for (unsigned long long i = ~0ull - 10; i < ~0ull - 1; i += 2) wide += i - (~0ull - 10);
#pragma omp for schedule(static, 3)
        for (int i = 100; i > -100; i -= 7) reversed += i;
#pragma omp for schedule(static, 1)
        for (long i = -5; i <= 5; i++) chunked += i * i;
#pragma omp for simd schedule(simd : static, 5)
        for (int i = 0; i < 103; i++) simd += i;
#pragma omp for
        for (int i = 0; i < threads - threads; i++) empty++;
    }
    for (int i = 0; i < 256; i++) CHECK_EQUAL(small[i], 1);
    CHECK_EQUAL(wide, 0 + 2 + 4 + 6 + 8);
    int wanted = 0;
    for (int i = 100; i > -100; i -= 7) wanted += i;
    CHECK_EQUAL(reversed, wanted);
    CHECK_EQUAL(chunked, 110);
    CHECK_EQUAL(simd, 103 * 102 / 2);
    CHECK_EQUAL(empty, 0);
}

static void a_cancelled_static_loop_does_not_cancel_the_next(void) {
    int after = 0, before = 0;
#pragma omp parallel num_threads(threads)
    {
#pragma omp for
        for (int i = 0; i < 1000; i++) {
#pragma omp cancel for if (i % 10 == 0)
#pragma omp atomic
            before++;
#pragma omp cancellation point for
        }
#pragma omp for
        for (int i = 0; i < 1000; i++) {
#pragma omp cancellation point for
#pragma omp atomic
            after++;
        }
#pragma omp sections
        {
#pragma omp section
            {
#pragma omp cancel sections
            }
#pragma omp section
            {
            }
        }
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 100; i++) {
#pragma omp cancellation point for
#pragma omp atomic
            after++;
        }
    }
    CHECK_EQUAL(after, 1100);
    CHECK(before < 1000);
}

static void doacross_nests_keep_their_order(void) {
    enum { rows = 12, columns = 9 };
    static int table[rows][columns];
    memset(table, 0, sizeof table);
#pragma omp parallel for ordered(2) num_threads(threads) schedule(dynamic)
    for (int i = rows - 1; i >= 0; i--)
        for (int j = 0; j < columns; j += 2) {
#pragma omp ordered depend(sink : i + 1, j) depend(sink : i, j - 2)
            const int above = i + 1 < rows ? table[i + 1][j] : 1, left = j ? table[i][j - 2] : 0;
            table[i][j] = above + left;
#pragma omp ordered depend(source)
        }
    int wanted[rows][columns] = {{0}};
    for (int i = rows - 1; i >= 0; i--)
        for (int j = 0; j < columns; j += 2) {
            wanted[i][j] = (i + 1 < rows ? wanted[i + 1][j] : 1) + (j ? wanted[i][j - 2] : 0);
            CHECK_EQUAL(table[i][j], wanted[i][j]);
        }
}

/* ---- Atomics by calls -----------------------------------------------------------------------------------------------
 */

typedef struct ident ident;
void __kmpc_atomic_fixed1_add(ident *, int, signed char *, signed char);
short __kmpc_atomic_fixed2_mul_cpt(ident *, int, short *, short, int);
void __kmpc_atomic_fixed4_sub_rev(ident *, int, int *, int);
int __kmpc_atomic_fixed4_max_cpt(ident *, int, int *, int, int);
void __kmpc_atomic_fixed4_andl(ident *, int, int *, int);
unsigned __kmpc_atomic_fixed4u_shr_cpt_rev(ident *, int, unsigned *, unsigned, int);
void __kmpc_atomic_fixed8_eqv(ident *, int, long long *, long long);
void __kmpc_atomic_fixed8_mul_float8(ident *, int, long long *, double);
void __kmpc_atomic_float4_add(ident *, int, float *, float);
double __kmpc_atomic_float8_div_cpt_rev(ident *, int, double *, double, int);
void __kmpc_atomic_float10_add(ident *, int, long double *, long double);
long double __kmpc_atomic_float10_min_cpt(ident *, int, long double *, long double, int);
long double __kmpc_atomic_float10_rd(ident *, int, long double *);
void __kmpc_atomic_cmplx4_add(ident *, int, float complex *, float complex);
void __kmpc_atomic_cmplx4_sub_cpt(ident *, int, float complex *, float complex, float complex *, int);
void __kmpc_atomic_cmplx4_swp(ident *, int, float complex *, float complex, float complex *);
double complex __kmpc_atomic_cmplx8_mul_cpt(ident *, int, double complex *, double complex, int);
void __kmpc_atomic_cmplx8_add(ident *, int, double complex *, double complex);
long double complex __kmpc_atomic_cmplx10_swp(ident *, int, long double complex *, long double complex);
long long __kmpc_atomic_fixed8_swp(ident *, int, long long *, long long);
_Bool __kmpc_atomic_bool_2_cas(ident *, int, short *, short, short);
int __kmpc_atomic_val_4_cas_cpt(ident *, int, int *, int, int, int *);
void __kmpc_atomic_4(ident *, int, void *, void *, void (*)(void *, void *, void *));
void __kmpc_atomic_32(ident *, int, void *, void *, void (*)(void *, void *, void *));

static void add_ints(void *result, void *a, void *b) { *(int *)result = *(int *)a + *(int *)b; }
struct wide {
    long a, b, c, d;
};
static void add_wide(void *result, void *a, void *b) {
    struct wide *r = result, *x = a, *y = b;
    r->a = x->a + y->a;
    r->d = x->d + y->d;
}

static void atomic_entries_compute_what_they_say(void) {
    short two = 6;
    CHECK_EQUAL(__kmpc_atomic_fixed2_mul_cpt(0, 0, &two, 7, 0), 6);
    CHECK_EQUAL(__kmpc_atomic_fixed2_mul_cpt(0, 0, &two, 2, 1), 84);
    CHECK(__kmpc_atomic_bool_2_cas(0, 0, &two, 84, 3) && two == 3 && !__kmpc_atomic_bool_2_cas(0, 0, &two, 84, 4));
    int four = 10, seen = 0;
    __kmpc_atomic_fixed4_sub_rev(0, 0, &four, 3);
    CHECK_EQUAL(four, -7);
    CHECK_EQUAL(__kmpc_atomic_fixed4_max_cpt(0, 0, &four, -9, 1), -7);
    CHECK_EQUAL(__kmpc_atomic_fixed4_max_cpt(0, 0, &four, 9, 0), -7);
    CHECK_EQUAL(four, 9);
    __kmpc_atomic_fixed4_andl(0, 0, &four, 4);
    CHECK_EQUAL(four, 1);
    CHECK_EQUAL(__kmpc_atomic_val_4_cas_cpt(0, 0, &four, 1, 20, &seen), 1);
    CHECK_EQUAL(seen, 20);
    unsigned shift = 2;
    CHECK_EQUAL(__kmpc_atomic_fixed4u_shr_cpt_rev(0, 0, &shift, 0x80000000u, 1), 0x20000000u);
    long long eight = 12;
    __kmpc_atomic_fixed8_eqv(0, 0, &eight, 10);
    CHECK_EQUAL(eight, 12 ^ ~10ll);
    eight = 9;
    __kmpc_atomic_fixed8_mul_float8(0, 0, &eight, 2.5);
    CHECK_EQUAL(eight, 22);
    CHECK_EQUAL(__kmpc_atomic_fixed8_swp(0, 0, &eight, -1), 22);
    double real = 4;
    CHECK(__kmpc_atomic_float8_div_cpt_rev(0, 0, &real, 2, 1) == 0.5 && real == 0.5);
    long double extended = 3;
    CHECK(__kmpc_atomic_float10_min_cpt(0, 0, &extended, 2, 0) == 3 && __kmpc_atomic_float10_rd(0, 0, &extended) == 2);
    float complex z4 = 1 + 2 * I, out;
    __kmpc_atomic_cmplx4_sub_cpt(0, 0, &z4, 3, &out, 1);
    CHECK(z4 == -2 + 2 * I && out == z4);
    __kmpc_atomic_cmplx4_swp(0, 0, &z4, 5, &out);
    CHECK(z4 == 5 && out == -2 + 2 * I);
    double complex z8 = 1 + I;
    CHECK(__kmpc_atomic_cmplx8_mul_cpt(0, 0, &z8, 1 + I, 1) == 2 * I);
    long double complex z10 = 7 * I;
    CHECK(__kmpc_atomic_cmplx10_swp(0, 0, &z10, 1) == 7 * I && z10 == 1);
}

static void atomic_entries_are_atomic(void) {
    enum { times = 500 };
    static signed char one;
    static float single_real;
    static long double extended;
    static float complex z4;
    static double complex z8;
    static int by_function;
    static struct wide wide;
    one = 0, single_real = 0, extended = 0, z4 = 0, z8 = 0, by_function = 0, memset(&wide, 0, sizeof wide);
#pragma omp parallel num_threads(threads)
    for (int i = 0; i < times; i++) {
        int y = 2;
        struct wide w = {1, 0, 0, 3};
        __kmpc_atomic_fixed1_add(0, 0, &one, 1);
        __kmpc_atomic_float4_add(0, 0, &single_real, 1);
        __kmpc_atomic_float10_add(0, 0, &extended, 1);
        __kmpc_atomic_cmplx4_add(0, 0, &z4, 1 + 2 * I);
        __kmpc_atomic_cmplx8_add(0, 0, &z8, 1 + 2 * I);
        __kmpc_atomic_4(0, 0, &by_function, &y, add_ints);
        __kmpc_atomic_32(0, 0, &wide, &w, add_wide);
    }
    const int all = threads * times;
    CHECK_EQUAL(one, (signed char)all);
    CHECK_EQUAL(single_real, all);
    CHECK_EQUAL(extended, all);
    CHECK(z4 == all + 2.0f * all * I && z8 == all + 2.0 * all * I);
    CHECK_EQUAL(by_function, 2 * all);
    CHECK(wide.a == all && wide.d == 3 * all);
}

/* ---- User functions
 * --------------------------------------------------------------------------------------------------- */

static void the_extensions_answer(void) {
    void *block = kmp_malloc(100);
    block = kmp_realloc(block, 200);
    CHECK(block != NULL);
    kmp_free(block);
    block = kmp_aligned_malloc(100, 256);
    CHECK((size_t)block % 256 == 0);
    kmp_free(block);
    kmp_set_blocktime(17);
    CHECK_EQUAL(kmp_get_blocktime(), 17);
    CHECK(kmp_get_stacksize_s() >= 16384);
    kmp_affinity_mask_t mask;
    kmp_create_affinity_mask(&mask);
    const int last = kmp_get_affinity_max_proc() - 1;
    CHECK_EQUAL(kmp_get_affinity_mask_proc(last, &mask), 0);
    CHECK_EQUAL(kmp_set_affinity_mask_proc(last, &mask), 0);
    CHECK_EQUAL(kmp_get_affinity_mask_proc(last, &mask), 1);
    CHECK_EQUAL(kmp_set_affinity_mask_proc(last + 1, &mask), -1); /* not the process' */
    CHECK_EQUAL(kmp_unset_affinity_mask_proc(last, &mask), 0);
    CHECK_EQUAL(kmp_get_affinity_mask_proc(last, &mask), 0);
    kmp_destroy_affinity_mask(&mask);
    omp_lock_t lock;
    omp_init_lock_with_hint(&lock, omp_lock_hint_contended);
    omp_set_lock(&lock);
    CHECK(!omp_test_lock(&lock));
    omp_unset_lock(&lock);
    omp_destroy_lock(&lock);
    omp_nest_lock_t nest;
    omp_init_nest_lock(&nest);
    CHECK_EQUAL(omp_test_nest_lock(&nest), 1);
    CHECK_EQUAL(omp_test_nest_lock(&nest), 2);
    omp_unset_nest_lock(&nest);
    omp_unset_nest_lock(&nest);
    omp_destroy_nest_lock(&nest);
    omp_alloctrait_t traits[] = {{omp_atk_alignment, 128}};
    omp_allocator_handle_t allocator = omp_init_allocator(omp_default_mem_space, 1, traits);
    block = omp_alloc(10, allocator);
    CHECK((size_t)block % 128 == 0);
    omp_free(block, allocator);
    omp_destroy_allocator(allocator);
}

/* What LLVM 22's headers and Intel's have more; the library that the program is linked with has it not. */
#define WEAK __attribute__((weak))
WEAK int omp_in_explicit_task(void);
WEAK const char *omp_get_uid_from_device(int);
WEAK int omp_get_device_from_uid(const char *);
WEAK omp_memspace_handle_t omp_get_device_and_host_memspace(int, omp_memspace_handle_t);
WEAK omp_memspace_handle_t omp_get_devices_memspace(int, const int *, omp_memspace_handle_t);
WEAK omp_allocator_handle_t omp_get_devices_all_allocator(omp_memspace_handle_t);
WEAK int omp_get_memspace_num_resources(omp_memspace_handle_t);

static void newer_headers_are_served(void) {
    const omp_memspace_handle_t newer_default = (omp_memspace_handle_t)99;
    omp_alloctrait_t traits[] = {
        {omp_atk_alignment, 512}, {(omp_alloctrait_key_t)13, 1}, {(omp_alloctrait_key_t)14, 64}};
    omp_allocator_handle_t allocator = omp_init_allocator(newer_default, 3, traits);
    CHECK(allocator != omp_null_allocator);
    void *block = omp_alloc(10, allocator);
    CHECK(block && (size_t)block % 512 == 0);
    omp_free(block, allocator);
    omp_destroy_allocator(allocator);
    traits[1].key = (omp_alloctrait_key_t)15;
    CHECK(omp_init_allocator(newer_default, 3, traits) == omp_null_allocator);
    CHECK(omp_init_allocator((omp_memspace_handle_t)98, 0, NULL) == omp_null_allocator);

    const int host = omp_get_initial_device(), other = host + 1;
    CHECK(omp_get_device_and_host_memspace(host, omp_high_bw_mem_space) == omp_high_bw_mem_space);
    CHECK(omp_get_devices_memspace(1, &host, newer_default) == newer_default);
    CHECK(omp_get_devices_memspace(1, &other, newer_default) == (omp_memspace_handle_t)0);
    CHECK(omp_get_devices_memspace(0, NULL, newer_default) == (omp_memspace_handle_t)0);
    CHECK(omp_get_devices_all_allocator(newer_default) == omp_default_mem_alloc);
    CHECK(omp_get_devices_all_allocator(omp_low_lat_mem_space) == omp_low_lat_mem_alloc);
    CHECK_EQUAL(omp_get_memspace_num_resources(newer_default), 1);
    CHECK_EQUAL(omp_get_device_from_uid(omp_get_uid_from_device(host)), host);
    CHECK_EQUAL(omp_get_device_from_uid("another"), -2);

    int in_task = 0, beside = 0, undeferred = 0;
#pragma omp parallel num_threads(threads) reduction(+ : in_task, beside, undeferred)
    {
        beside += omp_in_explicit_task();
#pragma omp task shared(in_task)
        {
#pragma omp atomic
            in_task += omp_in_explicit_task();
        }
#pragma omp task if (0) shared(undeferred)
        undeferred += omp_in_explicit_task();
#pragma omp taskwait
        beside += omp_in_explicit_task();
    }
    CHECK_EQUAL(beside, 0);
    CHECK_EQUAL(in_task, threads);
    CHECK_EQUAL(undeferred, threads);
}

#ifdef __x86_64__
WEAK void __kmpc_atomic_float16_add(void *, int, __float128 *, __float128);
WEAK __float128 __kmpc_atomic_float16_max_cpt(void *, int, __float128 *, __float128, int);
WEAK void __kmpc_atomic_fixed4_mul_fp(void *, int, int *, __float128);
WEAK void __kmpc_atomic_fixed8u_div_rev_fp(void *, int, unsigned long *, __float128);
WEAK double __kmpc_atomic_float8_sub_cpt_rev_fp(void *, int, double *, __float128, int);

static void atomics_of_four_words_are_atomic(void) {
    __float128 sum = 0, most = 0;
    int product = 3;
    unsigned long quotient = 4;
    double difference = 1.5;
#pragma omp parallel num_threads(threads)
    for (int i = 0; i < 1000; i++) {
        __kmpc_atomic_float16_add(NULL, 0, &sum, 1);
        __kmpc_atomic_float16_max_cpt(NULL, 0, &most, i, 0);
    }
    CHECK(sum == 1000 * threads);
    CHECK(most == 999);
    CHECK(__kmpc_atomic_float16_max_cpt(NULL, 0, &most, 1000, 0) == 999);
    __kmpc_atomic_fixed4_mul_fp(NULL, 0, &product, 2.5);
    CHECK_EQUAL(product, 7);
    __kmpc_atomic_fixed8u_div_rev_fp(NULL, 0, &quotient, 30);
    CHECK_EQUAL(quotient, 7);
    CHECK(__kmpc_atomic_float8_sub_cpt_rev_fp(NULL, 0, &difference, 10, 1) == 8.5);
}
#endif

static void an_undeferred_task_ends_later_with_its_event(void) {
    int ran = 0, after = 0, waited = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    {
        omp_event_handle_t event;
#pragma omp task detach(event) if (0) shared(ran)
        ran++;
        after = ran; /* only its body keeps us */
#pragma omp task firstprivate(event)
        omp_fulfill_event(event);
#pragma omp taskwait
        waited = 1;
    }
    CHECK_EQUAL(ran, 1);
    CHECK_EQUAL(after, 1);
    CHECK_EQUAL(waited, 1);
}

int main(int argc, char **argv) {
    if (argc > 1) threads = atoi(argv[1]);
    witness_comity();
    omp_set_max_active_levels(4);
    for (int round = 0; round < 3; round++) {
        regions_have_as_many_variables_as_they_need();
        a_region_with_a_false_condition_is_one_thread();
        num_threads_may_be_a_list();
        leagues_deal_out_their_loops();
        an_undeferred_task_ends_later_with_its_event();
        static_loops_are_dealt_out_whole();
        a_cancelled_static_loop_does_not_cancel_the_next();
        doacross_nests_keep_their_order();
        atomic_entries_compute_what_they_say();
        atomic_entries_are_atomic();
        newer_headers_are_served();
#ifdef __x86_64__
        atomics_of_four_words_are_atomic();
#endif
    }
    threadprivate_variables_are_each_threads_own();
    the_extensions_answer();
    return report();
}
