/* A library with OpenBLAS' way of making and using threads, and nothing of its mathematics: fake_openblas.c. */
#pragma once
#ifdef __cplusplus
extern "C" {
#endif

/* What the real ones export. */
extern int blas_cpu_number, blas_num_threads; /* not from a program: it would get copies */
int openblas_get_num_threads(void);
const char *openblas_get_config(void);
void openblas_set_num_threads(int n);

/* A call: as many jobs as blas_cpu_number says, each of which waits, spinning, for all others. Returns how many there
 * were. */
int fake_call(void (*inside)(void));
/* The same with exactly n jobs. */
int fake_call_of(int n, void (*inside)(void));
/* getrf's shape: a job on the pool's thread, which goes on while the caller makes `calls` calls of 2 jobs. Returns 1 if
   the job was still marked as running after each of them. */
int fake_call_beside_pool(int calls);
int fake_jobs_of_next_call(void);
int fake_jobs_of_pool(void);   /* how many jobs the pool has run */
int fake_shared_numbers(void); /* how often two jobs that ran at the same time had the same number */
int fake_has_callback(void);

#ifdef __cplusplus
}
#endif
