/* Sparse matrix-vector product (section on the Spark98 kernels): w = M v, twenty times; of an unsymmetric matrix like
 * that of a finite element mesh, stored by rows.
 *
 * Fine-grained, 128 threads are created and joined for each product, each with as many rows. Coarse-grained, one thread
 * for each processor lives for all products, with a barrier after each; it has rows of as many nonzeroes. Here each
 * product's result is the next one's vector, so that all of them count. */
#include "options.h"

#include <math.h>

static long rows = 30169, nonzeroes = 151239, iterations = 20, parts = 128;

static struct {
    long *starts; /* rows + 1 of them */
    int *columns;
    double *values;
} matrix;

static double *vectors[2]; /* iteration i reads vectors[i % 2] and writes the other */

typedef struct share {
    long first, end; /* rows */
    long iteration;
} share;

static void multiply_rows(const share *some, const double *v, double *w) {
    for (long i = some->first; i < some->end; ++i) {
        double sum = 0;
        for (long k = matrix.starts[i]; k < matrix.starts[i + 1]; ++k) sum += matrix.values[k] * v[matrix.columns[k]];
        w[i] = sum;
    }
}

static void multiply_share(void *argument) {
    const share *const some = argument;
    multiply_rows(some, vectors[some->iteration % 2], vectors[(some->iteration + 1) % 2]);
}

static void run_fine(void) {
    share *const shares = allocate((size_t)parts * sizeof *shares);
    for (long iteration = 0; iteration < iterations; ++iteration) {
        for (long i = 0; i < parts; ++i) shares[i] = (share){rows * i / parts, rows * (i + 1) / parts, iteration};
        fork_each(multiply_share, shares, sizeof *shares, parts);
    }
    release(shares);
}

static pthread_barrier_t barrier;

static void run_processor(void *argument) {
    share *const mine = argument;
    for (mine->iteration = 0; mine->iteration < iterations; ++mine->iteration) {
        multiply_share(mine);
        pthread_barrier_wait(&barrier);
    }
}

/* The first row before which there are at least so many nonzeroes. */
static long row_after(long count) {
    long low = 0, high = rows;
    while (low < high) {
        const long middle = (low + high) / 2;
        if (matrix.starts[middle] < count)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void run_coarse(void) {
    share *const shares = allocate((size_t)processors * sizeof *shares);
    for (long i = 0; i < processors; ++i)
        shares[i] = (share){row_after(nonzeroes * i / processors), row_after(nonzeroes * (i + 1) / processors), 0};
    shares[processors - 1].end = rows;
    pthread_barrier_init(&barrier, NULL, (unsigned)processors);
    fork_each(run_processor, shares, sizeof *shares, processors);
    pthread_barrier_destroy(&barrier);
    release(shares);
}

/* Nodes of a mesh in boxes, each with itself and some of its neighbours in the three directions. Where the mesh is
 * fine, in the first part, a row has twice as many nonzeroes as elsewhere: such rows make equal parts of unequal work.
 */
static void make_matrix(void) {
    random_state state = 1;
    const long side = (long)ceil(cbrt((double)rows)), fine = rows / 4;
    matrix.starts = allocate((size_t)(rows + 1) * sizeof *matrix.starts);
    matrix.columns = allocate((size_t)nonzeroes * sizeof *matrix.columns);
    matrix.values = allocate((size_t)nonzeroes * sizeof *matrix.values);
    const double weight = (double)(rows + fine); /* of all rows, those of the fine part counted twice */
    for (long i = 0; i <= rows; ++i)
        matrix.starts[i] = (long)((double)nonzeroes * (double)(i + (i < fine ? i : fine)) / weight);
    for (long i = 0; i < rows; ++i) {
        const long count = matrix.starts[i + 1] - matrix.starts[i];
        for (long k = 0; k < count; ++k) {
            const long steps[3] = {1, side, side * side};
            const long away = steps[k % 3] * (long)(1 + next_random(&state) % 2) * (next_random(&state) % 2 ? 1 : -1);
            const long at = matrix.starts[i] + k, column = k == 0 ? i : (i + away) % rows;
            matrix.columns[at] = (int)(column < 0 ? column + rows : column);
            /* Rows of sums up to 1: the vector neither grows nor vanishes. */
            matrix.values[at] = (0.9 + 0.1 * next_uniform(&state)) / (double)count;
        }
    }
    for (int i = 0; i < 2; ++i) vectors[i] = allocate((size_t)rows * sizeof(double));
    for (long i = 0; i < rows; ++i) vectors[0][i] = next_uniform(&state);
}

/* The same products, computed backwards from the last column of each row, but for rounding. */
static bool is_right(const double *start) {
    double *own[2] = {allocate((size_t)rows * sizeof(double)), allocate((size_t)rows * sizeof(double))};
    memcpy(own[0], start, (size_t)rows * sizeof(double));
    for (long iteration = 0; iteration < iterations; ++iteration) {
        const double *const v = own[iteration % 2];
        double *const w = own[(iteration + 1) % 2];
        memset(w, 0, (size_t)rows * sizeof(double));
        for (long i = rows - 1; i >= 0; --i)
            for (long k = matrix.starts[i + 1] - 1; k >= matrix.starts[i]; --k)
                w[i] += matrix.values[k] * v[matrix.columns[k]];
    }
    long wrong = 0;
    const double *const last = vectors[iterations % 2], *const expected = own[iterations % 2];
    while (wrong < rows && fabs(last[wrong] - expected[wrong]) <= 1e-12) ++wrong;
    if (wrong < rows) fprintf(stderr, "sparse: row %ld is %g instead of %g\n", wrong, last[wrong], expected[wrong]);
    for (int i = 0; i < 2; ++i) release(own[i]);
    return wrong == rows;
}

int main(int argc, char **argv) {
    const number numbers[] = {{"rows", &rows, 1, 100000000, "rows of the matrix"},
                              {"nonzeroes", &nonzeroes, 1, 1000000000, "its nonzeroes, 2 to 1000 a row in the mean"},
                              {"iterations", &iterations, 1, 1000000, "products"},
                              {"threads", &parts, 1, 100000, "threads for each product"}};
    read_options(argc, argv, "Multiplies a sparse matrix by a vector, again and again.", numbers, 4, true);
    if (nonzeroes < 2 * rows || nonzeroes > 1000 * rows) {
        fprintf(stderr, "sparse: --nonzeroes %ld is not from 2 to 1000 times --rows %ld\n", nonzeroes, rows);
        return status_failed;
    }
    make_matrix();
    double *const start = allocate((size_t)rows * sizeof *start);
    memcpy(start, vectors[0], (size_t)rows * sizeof *start);
    begin_parallel_part();
    if (form == form_coarse) {
        run_coarse();
    } else {
        run_fine();
    }
    end_parallel_part();
    const bool right = is_right(start);
    release(start);
    for (int i = 0; i < 2; ++i) release(vectors[i]);
    release(matrix.starts);
    release(matrix.columns);
    release(matrix.values);
    return report("sparse", right);
}
