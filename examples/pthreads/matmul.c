/* Dense matrix multiply, divide and conquer (figure 4): a thread for each of the eight products of quadrants, a
 * temporary matrix for four of them, and a parallel addition; blocks of 64 x 64 are multiplied serially.
 *
 * The serial form needs no temporary, as figure 5 says of the paper's serial program: it adds the second product of
 * each quadrant to the first. */
#include "options.h"

#include <math.h>

enum { most_block = 256 };
static long size = 1024, block = 64;

/* A square part of a matrix that is stored row by row. */
typedef struct matrix {
    double *first;
    long stride; /* from one row to the next */
} matrix;

static matrix quadrant(matrix whole, long half, int row, int column) {
    return (matrix){whole.first + row * half * whole.stride + column * half, whole.stride};
}

/* c = a * b, or c += a * b */
typedef struct product {
    matrix a, b, c;
    long size;
    bool adds;
} product;

/* Two numbers in one register: gcc and clang know it on every machine. */
typedef double pair __attribute__((vector_size(16), aligned(8)));
static inline pair load_pair(const double *from) { return *(const pair *)from; }

/* Four rows of a times four columns of b, which are packed into `panel`. */
static void multiply_tile(const product *p, long row, long column, const double *panel) {
    const long stride = p->a.stride;
    const double *const a = p->a.first + row * stride;
    pair sums[8] = {{0}};
    for (long k = 0; k < p->size; ++k) {
        const pair left = load_pair(panel + 4 * k), right = load_pair(panel + 4 * k + 2);
        sums[0] += a[k] * left;
        sums[1] += a[k] * right;
        sums[2] += a[stride + k] * left;
        sums[3] += a[stride + k] * right;
        sums[4] += a[2 * stride + k] * left;
        sums[5] += a[2 * stride + k] * right;
        sums[6] += a[3 * stride + k] * left;
        sums[7] += a[3 * stride + k] * right;
    }
    for (int i = 0; i < 8; ++i) {
        pair *const at = (pair *)(p->c.first + (row + i / 2) * p->c.stride + column + i % 2 * 2);
        *at = p->adds ? *at + sums[i] : sums[i];
    }
}

/* Four columns of b at a time, one after the other in memory: in place they would fall into few sets of the cache. */
static void multiply_block(const product *p) {
    double panel[4 * most_block];
    for (long column = 0; column < p->size; column += 4) {
        for (long k = 0; k < p->size; ++k)
            memcpy(panel + 4 * k, p->b.first + k * p->b.stride + column, 4 * sizeof *panel);
        for (long row = 0; row < p->size; row += 4) multiply_tile(p, row, column, panel);
    }
}

/* The quadrants in the order of the figure. */
static const int rows[4] = {0, 0, 1, 1}, columns[4] = {0, 1, 1, 0};

/* The product of the left (inner = 0) or right half of a's rows with the upper or lower half of b's columns. */
static product part_of(const product *p, int which, int inner, matrix into) {
    const long half = p->size / 2;
    const int row = rows[which], column = columns[which];
    return (product){quadrant(p->a, half, row, inner), quadrant(p->b, half, inner, column),
                     quadrant(into, half, row, column), half, false};
}

static void multiply_serially(const product *p) {
    if (p->size <= block) {
        multiply_block(p);
        return;
    }
    for (int inner = 0; inner < 2; ++inner) {
        for (int which = 0; which < 4; ++which) {
            product part = part_of(p, which, inner, p->c);
            part.adds = p->adds || inner == 1;
            multiply_serially(&part);
        }
    }
}

/* c += t */
typedef struct sum {
    matrix t, c;
    long size;
} sum;

static void add(void *argument) {
    const sum *const s = argument;
    if (s->size <= block) {
        for (long i = 0; i < s->size; ++i)
            for (long j = 0; j < s->size; ++j) s->c.first[i * s->c.stride + j] += s->t.first[i * s->t.stride + j];
        return;
    }
    thread threads[4];
    sum parts[4];
    for (int i = 0; i < 4; ++i) {
        const long half = s->size / 2;
        parts[i] = (sum){quadrant(s->t, half, rows[i], columns[i]), quadrant(s->c, half, rows[i], columns[i]), half};
        fork_thread(&threads[i], add, &parts[i]);
    }
    for (int i = 0; i < 4; ++i) join_thread(&threads[i]);
}

static void multiply(void *argument) {
    const product *const p = argument;
    if (p->size <= block) {
        multiply_block(p);
        return;
    }
    const matrix t = {allocate((size_t)(p->size * p->size) * sizeof(double)), p->size};
    thread threads[8];
    product parts[8];
    for (int i = 0; i < 8; ++i) {
        parts[i] = part_of(p, i % 4, i / 4, i < 4 ? p->c : t);
        fork_thread(&threads[i], multiply, &parts[i]);
    }
    for (int i = 0; i < 8; ++i) join_thread(&threads[i]);
    add(&(sum){t, p->c, p->size});
    release(t.first);
}

/* to = m * from */
static void apply(matrix m, const double *from, double *to) {
    for (long i = 0; i < size; ++i) {
        to[i] = 0;
        for (long j = 0; j < size; ++j) to[i] += m.first[i * size + j] * from[j];
    }
}

/* c * x must be a * (b * x) for a random x. */
static bool is_right(const product *p, random_state *state) {
    double *const vectors = allocate((size_t)(4 * size) * sizeof(double));
    double *const x = vectors, *const bx = x + size, *const abx = bx + size, *const cx = abx + size;
    for (long i = 0; i < size; ++i) x[i] = 2 * next_uniform(state) - 1;
    apply(p->b, x, bx);
    apply(p->a, bx, abx);
    apply(p->c, x, cx);
    const double tolerance = 1e-13 * (double)size * sqrt((double)size);
    long wrong = 0;
    while (wrong < size && fabs(cx[wrong] - abx[wrong]) <= tolerance) ++wrong;
    if (wrong < size)
        fprintf(stderr, "matmul: row %ld of the product is wrong: %g instead of %g\n", wrong, cx[wrong], abx[wrong]);
    release(vectors);
    return wrong == size;
}

int main(int argc, char **argv) {
    const number numbers[] = {{"size", &size, 4, 16384, "rows of the matrices, a power of 2 times --block or less"},
                              {"block", &block, 4, most_block, "rows of what is multiplied serially, a multiple of 4"}};
    read_options(argc, argv, "Multiplies two dense matrices by divide and conquer.", numbers, 2, false);
    long part = size;
    while (part > block && part % 2 == 0) part /= 2;
    if (part > block || part % 4 != 0) {
        fprintf(stderr, "matmul: --size %ld cannot be halved down to a multiple of 4 that is at most --block %ld\n",
                size, block);
        return status_failed;
    }

    product p = {.size = size};
    matrix *const all[] = {&p.a, &p.b, &p.c};
    random_state state = 1;
    for (int i = 0; i < 3; ++i) {
        *all[i] = (matrix){allocate((size_t)(size * size) * sizeof(double)), size};
        for (long j = 0; j < size * size; ++j) all[i]->first[j] = i < 2 ? 2 * next_uniform(&state) - 1 : NAN;
    }
    begin_parallel_part();
    if (form == form_serial) {
        multiply_serially(&p);
    } else {
        multiply(&p);
    }
    end_parallel_part();
    const bool right = is_right(&p, &state);
    for (int i = 0; i < 3; ++i) release(all[i]->first);
    return report("matmul", right);
}
