/* A one-dimensional complex transform by FFTW (section on FFTW) with many threads. FFTW divides the transform into as
 * many parts as it is told that there are threads; who runs the parts, it asks its caller. Fine-grained that is a
 * thread for each part, created and joined in every parallel loop, as FFTW did when the paper was written; today's own
 * loop would keep its threads. Coarse-grained there are as many parts as processors. */
#include "options.h"

#include <complex.h>
#include <fftw3.h>
#include <math.h>

static long log2_size = 22, parts = 256, transforms = 1;

typedef struct part {
    void *(*work)(char *);
    char *data;
} part;

static void run_part(void *argument) {
    const part *const self = argument;
    self->work(self->data);
}

/* FFTW's parallel loop: the jobs' data lie `size` bytes apart. The caller does the last one. */
static void run_loop(void *(*work)(char *), char *data, size_t size, int count, void *unused) {
    (void)unused;
    thread *const threads = allocate((size_t)count * sizeof *threads);
    part *const jobs = allocate((size_t)count * sizeof *jobs);
    for (int i = 0; i < count; ++i) {
        jobs[i] = (part){work, data + (size_t)i * size};
        if (i < count - 1) fork_thread(&threads[i], run_part, &jobs[i]);
    }
    run_part(&jobs[count - 1]);
    for (int i = 0; i < count - 1; ++i) join_thread(&threads[i]);
    release(jobs);
    release(threads);
}

static double complex exact_bin(const double complex *in, long size, long bin) {
    double complex sum = 0;
    for (long i = 0; i < size; ++i)
        sum += in[i] * cexp(-2 * I * 3.14159265358979323846 * (double)(i * bin % size) / (double)size);
    return sum;
}

/* The transform keeps the sum of squares, but for the factor of its size, and some of its values are computed by their
 * definition. */
static bool is_right(const double complex *in, const double complex *out, long size) {
    double before = 0, after = 0, off = 0;
    for (long i = 0; i < size; ++i) {
        before += creal(in[i] * conj(in[i]));
        after += creal(out[i] * conj(out[i]));
    }
    const long bins[3] = {1 % size, size / 3, size - 1};
    for (int i = 0; i < 3; ++i) off = fmax(off, cabs(out[bins[i]] - exact_bin(in, size, bins[i])));
    const double tolerance = 1e-11;
    const bool keeps = fabs(after / (double)size - before) <= tolerance * before;
    const bool right = keeps && off <= tolerance * sqrt((double)size * before);
    if (!right)
        fprintf(stderr, "fft: the sum of squares is %g instead of %g, or a value off by %g\n", after / (double)size,
                before, off);
    return right;
}

int main(int argc, char **argv) {
    const number numbers[] = {{"log2", &log2_size, 1, 28, "the size of the transform is 2 to this power"},
                              {"threads", &parts, 1, 4096, "parts of the transform"},
                              {"transforms", &transforms, 1, 1000000, "how often it is done"}};
    read_options(argc, argv, "Computes a discrete Fourier transform by FFTW.", numbers, 3, true);
    const long size = 1L << log2_size;
    if (!fftw_init_threads()) {
        fprintf(stderr, "fft: FFTW cannot have threads here\n");
        return status_failed;
    }
    fftw_threads_set_callback(run_loop, NULL);
    fftw_plan_with_nthreads(form == form_serial ? 1 : form == form_coarse ? (int)processors : (int)parts);

    double complex *const in = allocate((size_t)size * sizeof *in), *const out = allocate((size_t)size * sizeof *out);
    fftw_plan plan = fftw_plan_dft_1d((int)size, in, out, FFTW_FORWARD, FFTW_ESTIMATE | FFTW_PRESERVE_INPUT);
    random_state state = 1;
    for (long i = 0; i < size; ++i) {
        const double real = next_uniform(&state) - 0.5;
        in[i] = real + I * (next_uniform(&state) - 0.5);
    }
    memset(out, 0, (size_t)size * sizeof *out);
    begin_parallel_part();
    for (long i = 0; i < transforms; ++i) fftw_execute(plan);
    end_parallel_part();
    const bool right = is_right(in, out, size);
    fftw_destroy_plan(plan);
    fftw_cleanup_threads();
    release(in);
    release(out);
    return report("fft", right);
}
