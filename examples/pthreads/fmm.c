/* The fast multipole method in three dimensions, uniform (section on the FMM): the potential and force of particles on
 * each other, by expansions of the field outside (multipole) and within (local) the cells of a tree.
 *
 *   1. The multipole expansion of a leaf cell is computed from its particles: a thread for each leaf.
 *   2. That of any other cell from its children's, upwards: a thread for each cell.
 *   3. The local expansion of a cell is that of its parent and those of the cells that are well separated from it but
 *      were not from its parent, downwards: a thread for each cell, and one for each few of those cells, forked as a
 *      binary tree. Each of these allocates an expansion of its own, which are added pairwise.
 *   4. The field at a particle comes from its leaf's local expansion and from the particles nearby: a thread a leaf.
 *
 * Expansions are of solid harmonics, regular R and irregular S (Cheng, Greengard, Rokhlin 1999):
 *   R(n, m) = r^n P(n, m)(cos t) e^(imf) / (n + m)!,  S(n, m) = (n - m)! P(n, m)(cos t) e^(imf) / r^(n + 1)
 *   1 / |a - b| = sum of conj(R(n, m)(b)) S(n, m)(a) for |b| < |a|
 *   R(n, m)(a + b) = sum of R(k, l)(a) R(n - k, m - l)(b)
 *   S(n, m)(a + b) = sum of (-1)^k conj(R(k, l)(a)) S(n + k, m + l)(b) for |a| < |b| */
#include "options.h"

#include <complex.h>
#include <math.h>

enum { most_terms = 12, most_terms_squared = most_terms * most_terms, most_levels = 6 };
/* Cells are near each other up to this distance in cells: of at most 1000 children of the parent's near cells 875 are
 * well separated. */
enum { near = 2, most_separated = 875 };

static long particle_count = 10000, terms = 5, levels = 4, cells_of_a_thread = 25;

typedef double complex number_c;

typedef struct vector {
    double x, y, z;
} vector;

static inline vector difference(vector a, vector b) { return (vector){a.x - b.x, a.y - b.y, a.z - b.z}; }

typedef struct particle {
    vector position, force;
    double mass, potential;
} particle;

typedef struct cell {
    int level, x, y, z; /* the place among those of the level */
    vector centre;
    particle *first; /* of a leaf: its particles */
    long count;
    number_c *multipole, *local; /* `terms` squared numbers each */
} cell;

static particle *particles;
static cell *cells[most_levels];

static inline long width_of(int level) { return 1L << level; }

static inline cell *cell_at(int level, long x, long y, long z) {
    return &cells[level][(z * width_of(level) + y) * width_of(level) + x];
}

static inline cell *child_of(const cell *self, int which) {
    return cell_at(self->level + 1, 2 * self->x + (which & 1), 2 * self->y + (which >> 1 & 1),
                   2 * self->z + (which >> 2));
}

static inline size_t bytes_of_expansion(void) { return (size_t)(terms * terms) * sizeof(number_c); }

static number_c *new_expansion(void) {
    number_c *const self = allocate(bytes_of_expansion());
    memset(self, 0, bytes_of_expansion());
    return self;
}

/* ---- Solid harmonics */

/* Where the number of degree n and order m is, for m from -n to n. */
static inline long at(long n, long m) { return n * n + n + m; }

/* Both are real functions in the sense that f(n, -m) = (-1)^m conj(f(n, m)). */
static void mirror(number_c *values, long degrees) {
    for (long n = 1; n < degrees; ++n)
        for (long m = 1; m <= n; ++m) values[at(n, -m)] = m % 2 ? -conj(values[at(n, m)]) : conj(values[at(n, m)]);
}

/* R(n, m) at the point, for n below `degrees`. */
static void compute_regular(vector to, long degrees, number_c *r) {
    const double square = to.x * to.x + to.y * to.y + to.z * to.z;
    const number_c across = to.x + I * to.y;
    r[0] = 1;
    for (long m = 0; m < degrees; ++m) {
        if (m > 0) r[at(m, m)] = -across / (2.0 * (double)m) * r[at(m - 1, m - 1)];
        for (long n = m + 1; n < degrees; ++n) {
            number_c value = (double)(2 * n - 1) * to.z * r[at(n - 1, m)];
            if (n - 2 >= m) value -= square * r[at(n - 2, m)];
            r[at(n, m)] = value / (double)((n + m) * (n - m));
        }
    }
    mirror(r, degrees);
}

/* S(n, m) at the point, for n below `degrees`. */
static void compute_irregular(vector to, long degrees, number_c *s) {
    const double square = to.x * to.x + to.y * to.y + to.z * to.z;
    const number_c across = to.x + I * to.y;
    s[0] = 1 / sqrt(square);
    for (long m = 0; m < degrees; ++m) {
        if (m > 0) s[at(m, m)] = -(double)(2 * m - 1) * across / square * s[at(m - 1, m - 1)];
        for (long n = m + 1; n < degrees; ++n) {
            number_c value = (double)(2 * n - 1) * to.z * s[at(n - 1, m)];
            if (n - 2 >= m) value -= (double)((n - 1) * (n - 1) - m * m) * s[at(n - 2, m)];
            s[at(n, m)] = value / square;
        }
    }
    mirror(s, degrees);
}

/* ---- Expansions */

/* Adds to the cell's multipole expansion that of a child: M(n, m) += sum of R(k, l)(shift) M'(n - k, m - l). */
static void shift_up(cell *self, const cell *child) {
    number_c r[most_terms_squared];
    compute_regular(difference(child->centre, self->centre), terms, r);
    for (long n = 0; n < terms; ++n)
        for (long m = -n; m <= n; ++m)
            for (long k = 0; k <= n; ++k)
                for (long l = -k; l <= k; ++l)
                    if (labs(m - l) <= n - k)
                        self->multipole[at(n, m)] += r[at(k, l)] * child->multipole[at(n - k, m - l)];
}

/* Sets a child's local expansion to the cell's: L'(j, i) = sum of L(k, l) conj(R(k - j, l - i)(shift)). */
static void shift_down(const cell *self, cell *child) {
    number_c r[most_terms_squared];
    compute_regular(difference(child->centre, self->centre), terms, r);
    for (long j = 0; j < terms; ++j)
        for (long i = -j; i <= j; ++i) {
            number_c sum = 0;
            for (long k = j; k < terms; ++k)
                for (long l = -k; l <= k; ++l)
                    if (labs(l - i) <= k - j) sum += self->local[at(k, l)] * conj(r[at(k - j, l - i)]);
            child->local[at(j, i)] = sum;
        }
}

/* Adds to a local expansion about `centre` the field of a cell far away:
 * L(k, l) += (-1)^k sum of conj(M(n, m)) S(n + k, m + l), of which those with negative l follow from the others.
 * `s` is room for the S, of (2 * terms - 1) squared numbers. */
static void add_field(number_c *local, vector centre, const cell *of, number_c *s) {
    compute_irregular(difference(centre, of->centre), 2 * terms - 1, s);
    for (long k = 0; k < terms; ++k)
        for (long l = 0; l <= k; ++l) {
            double re = 0, im = 0;
            for (long n = 0; n < terms; ++n) {
                const number_c *const m = of->multipole + at(n, 0), *const across = s + at(n + k, l);
                for (long i = -n; i <= n; ++i) { /* conj(m[i]) * across[i] */
                    re += creal(m[i]) * creal(across[i]) + cimag(m[i]) * cimag(across[i]);
                    im += creal(m[i]) * cimag(across[i]) - cimag(m[i]) * creal(across[i]);
                }
            }
            const number_c term = k % 2 ? -(re + I * im) : re + I * im;
            local[at(k, l)] += term;
            if (l > 0) local[at(k, -l)] += l % 2 ? -conj(term) : conj(term);
        }
}

/* ---- Phases 1 and 2: multipole expansions */

static void expand_leaf(void *argument) {
    cell *const self = argument;
    number_c r[most_terms_squared];
    for (long i = 0; i < self->count; ++i) {
        compute_regular(difference(self->first[i].position, self->centre), terms, r);
        for (long k = 0; k < terms * terms; ++k) self->multipole[k] += self->first[i].mass * r[k];
    }
}

static void expand(void *argument) {
    cell *const self = argument;
    if (self->level == levels - 1) return;
    thread threads[8];
    for (int i = 0; i < 8; ++i) fork_thread(&threads[i], expand, child_of(self, i));
    for (int i = 0; i < 8; ++i) {
        join_thread(&threads[i]);
        shift_up(self, child_of(self, i));
    }
}

/* ---- Phase 3: local expansions */

/* The children of the parent's near cells that are not near this one. Returns how many. */
static long find_separated(const cell *self, const cell **found) {
    const int half = self->level - 1;
    const long width = half < 0 ? 0 : width_of(half);
    long count = 0;
    for (long z = self->z / 2 - near; z <= self->z / 2 + near; ++z)
        for (long y = self->y / 2 - near; y <= self->y / 2 + near; ++y)
            for (long x = self->x / 2 - near; x <= self->x / 2 + near; ++x) {
                if (x < 0 || y < 0 || z < 0 || x >= width || y >= width || z >= width) continue;
                for (int i = 0; i < 8; ++i) {
                    const cell *const other = child_of(cell_at(half, x, y, z), i);
                    if (abs(other->x - self->x) > near || abs(other->y - self->y) > near ||
                        abs(other->z - self->z) > near)
                        found[count++] = other;
                }
            }
    return count;
}

typedef struct interactions {
    vector centre;
    const cell *const *with;
    long count;
    number_c *sum; /* a local expansion, allocated by who computes it */
} interactions;

static void interact(void *argument) {
    interactions *const self = argument;
    if (self->count <= cells_of_a_thread) {
        number_c *const room = allocate((size_t)((2 * terms - 1) * (2 * terms - 1)) * sizeof *room);
        self->sum = new_expansion();
        for (long i = 0; i < self->count; ++i) add_field(self->sum, self->centre, self->with[i], room);
        release(room);
        return;
    }
    const long half = self->count / 2;
    interactions parts[2] = {{self->centre, self->with, half, NULL},
                             {self->centre, self->with + half, self->count - half, NULL}};
    thread threads[2];
    for (int i = 0; i < 2; ++i) fork_thread(&threads[i], interact, &parts[i]);
    for (int i = 0; i < 2; ++i) join_thread(&threads[i]);
    self->sum = parts[0].sum;
    for (long k = 0; k < terms * terms; ++k) self->sum[k] += parts[1].sum[k];
    release(parts[1].sum);
}

/* The cell's local expansion holds its parent's part. */
static void localise(void *argument) {
    cell *const self = argument;
    const cell **const separated = allocate(most_separated * sizeof *separated);
    interactions all = {self->centre, separated, find_separated(self, separated), NULL};
    interact(&all);
    for (long k = 0; k < terms * terms; ++k) self->local[k] += all.sum[k];
    release(all.sum);
    release(separated);
    if (self->level == levels - 1) return;
    thread threads[8];
    for (int i = 0; i < 8; ++i) {
        shift_down(self, child_of(self, i));
        fork_thread(&threads[i], localise, child_of(self, i));
    }
    for (int i = 0; i < 8; ++i) join_thread(&threads[i]);
}

/* ---- Phase 4: the field at the particles */

static void attract(particle *one, const particle *by) {
    const vector from = difference(by->position, one->position);
    const double inverse = 1 / sqrt(from.x * from.x + from.y * from.y + from.z * from.z);
    const double strength = by->mass * inverse * inverse * inverse;
    one->potential += by->mass * inverse;
    one->force =
        (vector){one->force.x + strength * from.x, one->force.y + strength * from.y, one->force.z + strength * from.z};
}

/* The potential is the sum of conj(R(n, m)) L(n, m), the force its gradient. The derivative of R(n, m) by z is
 * R(n - 1, m), that by x - iy, d/dx - i d/dy, is -R(n - 1, m - 1). */
static void evaluate(const cell *leaf, particle *one) {
    number_c r[most_terms_squared], across = 0;
    compute_regular(difference(one->position, leaf->centre), terms, r);
    for (long n = 0; n < terms; ++n)
        for (long m = -n; m <= n; ++m) {
            const number_c local = leaf->local[at(n, m)];
            one->potential += creal(conj(r[at(n, m)]) * local);
            if (labs(m) < n) one->force.z += creal(conj(r[at(n - 1, m)]) * local);
            if (labs(m - 1) < n) across -= conj(r[at(n - 1, m - 1)]) * local;
        }
    one->force.x += creal(across);
    one->force.y += cimag(across);
}

static void evaluate_leaf(void *argument) {
    cell *const self = argument;
    const long width = width_of(self->level);
    for (long i = 0; i < self->count; ++i) evaluate(self, &self->first[i]);
    for (long z = self->z - near; z <= self->z + near; ++z)
        for (long y = self->y - near; y <= self->y + near; ++y)
            for (long x = self->x - near; x <= self->x + near; ++x) {
                if (x < 0 || y < 0 || z < 0 || x >= width || y >= width || z >= width) continue;
                const cell *const other = cell_at(self->level, x, y, z);
                for (long i = 0; i < self->count; ++i)
                    for (long j = 0; j < other->count; ++j)
                        if (self->first + i != other->first + j) attract(&self->first[i], &other->first[j]);
            }
}

/* ---- The tree, the particles, and whether the field was right */

static cell *leaf_of(const particle *one) {
    const double width = (double)width_of((int)levels - 1);
    return cell_at((int)levels - 1, (long)(one->position.x * width), (long)(one->position.y * width),
                   (long)(one->position.z * width));
}

static void make_cells(void) {
    for (int level = 0; level < levels; ++level) {
        const long width = width_of(level);
        cells[level] = allocate((size_t)(width * width * width) * sizeof(cell));
        for (int z = 0; z < width; ++z)
            for (int y = 0; y < width; ++y)
                for (int x = 0; x < width; ++x) {
                    const double size = 1.0 / (double)width;
                    *cell_at(level, x, y, z) = (cell){.level = level,
                                                      .x = x,
                                                      .y = y,
                                                      .z = z,
                                                      .centre = {(x + 0.5) * size, (y + 0.5) * size, (z + 0.5) * size},
                                                      .multipole = new_expansion(),
                                                      .local = new_expansion()};
                }
    }
}

static int by_leaf(const void *a, const void *b) {
    const cell *const left = leaf_of(a), *const right = leaf_of(b);
    return (left > right) - (left < right);
}

static void make_particles(void) {
    random_state state = 1;
    particles = allocate((size_t)particle_count * sizeof *particles);
    for (long i = 0; i < particle_count; ++i)
        particles[i] = (particle){.position = {next_uniform(&state), next_uniform(&state), next_uniform(&state)},
                                  .mass = (0.5 + next_uniform(&state)) / (double)particle_count};
    qsort(particles, (size_t)particle_count, sizeof *particles, by_leaf);
    for (long i = 0; i < particle_count; ++i) {
        cell *const leaf = leaf_of(&particles[i]);
        if (leaf->count++ == 0) leaf->first = &particles[i];
    }
}

/* Sums over all particles must give, for a sample of them, the potential and the force, but for the terms that are left
 * out. In the worst case each is smaller than the one before by the ratio of a cell's half diagonal to the distance of
 * the nearest well separated cell's corner; in the mean, by its square. The force has a term less. */
static bool is_right(void) {
    enum { sample = 200 };
    const double ratio = sqrt(3) / 2 / (near + 1 - sqrt(3) / 2);
    const double tolerance = pow(ratio, 2.0 * (double)(terms - 1));
    double errors[2] = {0, 0}, squares[2] = {0, 0};
    for (long i = 0; i < sample; ++i) {
        const particle *const one = &particles[particle_count * i / sample];
        particle exact = {.position = one->position};
        for (long j = 0; j < particle_count; ++j)
            if (&particles[j] != one) attract(&exact, &particles[j]);
        const vector off = difference(one->force, exact.force);
        errors[0] += pow(one->potential - exact.potential, 2);
        squares[0] += pow(exact.potential, 2);
        errors[1] += off.x * off.x + off.y * off.y + off.z * off.z;
        squares[1] += exact.force.x * exact.force.x + exact.force.y * exact.force.y + exact.force.z * exact.force.z;
    }
    const double potential = sqrt(errors[0] / squares[0]), force = sqrt(errors[1] / squares[1]);
    const bool right = potential <= 0.05 * tolerance && force <= tolerance;
    if (!right)
        fprintf(stderr, "fmm: the potential is wrong by %g and the force by %g of their size\n", potential, force);
    return right;
}

int main(int argc, char **argv) {
    const number numbers[] = {{"particles", &particle_count, 2, 10000000, "particles"},
                              {"terms", &terms, 1, most_terms, "terms of the expansions"},
                              {"levels", &levels, 1, most_levels, "levels of the tree"},
                              {"cells", &cells_of_a_thread, 1, most_separated, "interactions of a thread in phase 3"}};
    read_options(argc, argv, "Computes the field of particles by the fast multipole method.", numbers, 4, false);
    make_cells();
    make_particles();
    const long width = width_of((int)levels - 1), leaves = width * width * width;

    begin_parallel_part();
    fork_each(expand_leaf, cells[levels - 1], sizeof(cell), leaves);
    expand(cells[0]);
    localise(cells[0]);
    fork_each(evaluate_leaf, cells[levels - 1], sizeof(cell), leaves);
    end_parallel_part();

    const bool right = is_right();
    for (int level = 0; level < levels; ++level) {
        for (long i = 0; i < width_of(level) * width_of(level) * width_of(level); ++i) {
            release(cells[level][i].multipole);
            release(cells[level][i].local);
        }
        release(cells[level]);
    }
    release(particles);
    return report("fmm", right);
}
