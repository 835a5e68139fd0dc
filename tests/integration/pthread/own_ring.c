// Threads that each set up an io_uring to which the kernel lets only their own kernel thread submit, and give way and
// sleep between two submissions. Skipped where the kernel has none (6.1) or refuses.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { threads = 6, submissions = 60, entries = 8, not_here = 77, io_uring_setup = 425, io_uring_enter = 426 };

// As in linux/io_uring.h, which older headers lack in part.
struct parameters {
    unsigned sq_entries, cq_entries, flags, rest[7];
    struct {
        unsigned head, tail, mask, number, flags, dropped, array, more;
        unsigned long address;
    } sq;
    struct {
        unsigned head, tail, mask, number, overflow, entries, flags, more;
        unsigned long address;
    } cq;
};
static const unsigned single_issuer = 1U << 12;
static const off_t offset_of_entries = 0x10000000;
struct entry {
    unsigned char operation, rest[63]; // 0: none
};

static void *submits(void *out) {
    int *result = out;
    struct parameters p;
    memset(&p, 0, sizeof p);
    p.flags = single_issuer;
    const int ring = (int)syscall(io_uring_setup, entries, &p);
    if (ring < 0) return *result = not_here, NULL;
    char *sq = mmap(NULL, p.sq.array + p.sq_entries * sizeof(unsigned), PROT_READ | PROT_WRITE, MAP_SHARED, ring, 0);
    struct entry *all =
        mmap(NULL, p.sq_entries * sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED, ring, offset_of_entries);
    if (sq == MAP_FAILED || all == MAP_FAILED) return *result = 2, NULL;
    unsigned *tail = (unsigned *)(sq + p.sq.tail), *array = (unsigned *)(sq + p.sq.array);
    const unsigned mask = *(unsigned *)(sq + p.sq.mask);
    for (int i = 0; i < submissions; ++i) {
        const unsigned at = *tail & mask;
        memset(&all[at], 0, sizeof all[at]);
        array[at] = at;
        __atomic_store_n(tail, *tail + 1, __ATOMIC_SEQ_CST);
        if (syscall(io_uring_enter, ring, 1, 0, 0, NULL, 0) != 1) return *result = errno, NULL;
        sched_yield();
        usleep(100);
    }
    return NULL;
}

int main(void) {
    pthread_t t[threads];
    int results[threads] = {0};
    for (int i = 0; i < threads; ++i)
        if (pthread_create(&t[i], NULL, submits, &results[i]) != 0) return 2;
    for (int i = 0; i < threads; ++i)
        if (pthread_join(t[i], NULL) != 0) return 2;
    for (int i = 0; i < threads; ++i)
        if (results[i] != 0)
            return results[i] == not_here ? not_here : (printf("thread %d: %s\n", i, strerror(results[i])), 1);
    return 0;
}
