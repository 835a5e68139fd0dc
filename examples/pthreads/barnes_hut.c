/* Barnes-Hut (section on the N-body code of SPLASH-2): the gravity of bodies under the Plummer model, by an octree
 * whose cells act on far bodies as a whole. Each time step builds the tree, computes the forces and moves the bodies.
 *
 * Fine-grained, a thread inserts a few bodies into the tree, with a mutex for each cell; a thread for each subtree sums
 * up its bodies, another computes the forces on them; a thread moves a few bodies. Coarse-grained there is one thread
 * for each processor and a barrier after each phase; of the tree's bodies each takes a zone of the same cost. */
#include "options.h"

#include <math.h>

enum { most_in_leaf = 10, leaves_of_a_thread = 8, bodies_of_a_thread = 128, summing_depth = 6, zone_depth = 2 };
static const double softening = 0.05, time_step = 0.025; /* as SPLASH-2's, like the defaults of the options */

static long body_count = 100000, steps = 4, untimed_steps = 2, opening_percent = 100;
static double opening; /* a cell acts as a whole from where it is seen smaller than this, width by distance */

typedef struct vector {
    double x, y, z;
} vector;

static inline vector sum_of(vector a, vector b) { return (vector){a.x + b.x, a.y + b.y, a.z + b.z}; }
static inline vector difference(vector a, vector b) { return (vector){a.x - b.x, a.y - b.y, a.z - b.z}; }
static inline vector scaled(double by, vector a) { return (vector){by * a.x, by * a.y, by * a.z}; }
static inline double inner(vector a, vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

typedef struct body {
    vector position, velocity, acceleration;
    double mass;
    long cost; /* how many interactions the last force took */
} body;

/* A leaf or a cell; what it is never changes. */
typedef struct node {
    bool is_leaf;
    /* Written when the subtree is summed up: */
    long leaves, bodies, cost;
    double mass;
    vector centre_of_mass;
} node;

typedef struct leaf {
    node node;
    body *bodies[most_in_leaf]; /* node.bodies of them; written under the mutex of the cell above */
} leaf;

typedef struct cell {
    node node;
    vector centre;
    double width;
    double quadrupole[6]; /* xx, yy, zz, xy, xz, yz about the centre of mass */
    pthread_mutex_t mutex;
    _Atomic(node *) children[8]; /* written under the mutex; a cell stays for good, a leaf may become a cell */
} cell;

static body *bodies;
static cell *root;

/* ---- Building the tree */

static cell *new_cell(vector centre, double width) {
    cell *const self = allocate(sizeof *self);
    *self = (cell){.centre = centre, .width = width};
    pthread_mutex_init(&self->mutex, NULL);
    for (int i = 0; i < 8; ++i) atomic_init(&self->children[i], NULL);
    return self;
}

static leaf *new_leaf(void) {
    leaf *const self = allocate(sizeof *self);
    *self = (leaf){.node.is_leaf = true};
    return self;
}

static inline node *child_of(const cell *self, int which) {
    return atomic_load_explicit(&self->children[which], memory_order_acquire); /* acquire[node-in-tree] */
}

static inline int octant(const cell *self, vector position) {
    return (position.x >= self->centre.x) + 2 * (position.y >= self->centre.y) + 4 * (position.z >= self->centre.z);
}

static cell *new_cell_in(const cell *above, int which) {
    const double quarter = above->width / 4;
    const vector offset = {which & 1 ? quarter : -quarter, which & 2 ? quarter : -quarter,
                           which & 4 ? quarter : -quarter};
    return new_cell(sum_of(above->centre, offset), above->width / 2);
}

/* The bodies of a full leaf go into the leaves of a new cell. The full one becomes one of these, so that a thread that
 * still looks at it finds a leaf. Nobody else sees the cell yet, and the caller has the mutex of the leaf. */
static cell *split(leaf *full, cell *above, int which) {
    cell *const self = new_cell_in(above, which);
    body *moved[most_in_leaf];
    memcpy(moved, full->bodies, sizeof moved);
    full->node.bodies = 0;
    for (int i = 0; i < most_in_leaf; ++i) {
        const int in = octant(self, moved[i]->position);
        leaf *into = (leaf *)child_of(self, in);
        if (!into) {
            into = i == 0 ? full : new_leaf();
            atomic_store_explicit(&self->children[in], &into->node, memory_order_relaxed);
        }
        into->bodies[into->node.bodies++] = moved[i];
    }
    return self;
}

/* With the cell's mutex: puts the body into its leaf there, or returns the cell to go on with. */
static cell *insert_here(cell *at, body *one) {
    const int which = octant(at, one->position);
    node *const found = child_of(at, which);
    if (found && !found->is_leaf) return (cell *)found;
    leaf *into = (leaf *)found;
    node *put = NULL;
    if (into && into->node.bodies == most_in_leaf) {
        put = &split(into, at, which)->node;
    } else {
        if (!into) put = &(into = new_leaf())->node;
        into->bodies[into->node.bodies++] = one;
    }
    /* Who follows the pointer sees the node's fields: release[node-in-tree]. */
    if (put) atomic_store_explicit(&at->children[which], put, memory_order_release);
    return put && !put->is_leaf ? (cell *)put : NULL;
}

static void insert(body *one) {
    for (cell *at = root; at;) {
        node *const next = child_of(at, octant(at, one->position));
        if (next && !next->is_leaf) {
            at = (cell *)next;
            continue;
        }
        cell *const locked = at;
        pthread_mutex_lock(&locked->mutex);
        at = insert_here(locked, one);
        pthread_mutex_unlock(&locked->mutex);
    }
}

static void plant(void) {
    double reach = 0;
    for (long i = 0; i < body_count; ++i) {
        const vector at = bodies[i].position;
        reach = fmax(reach, fmax(fabs(at.x), fmax(fabs(at.y), fabs(at.z))));
    }
    root = new_cell((vector){0, 0, 0}, 2.0001 * reach);
}

static void fell(node *tree) {
    for (int i = 0; !tree->is_leaf && i < 8; ++i) {
        node *const child = child_of((cell *)tree, i);
        if (child) fell(child);
    }
    if (!tree->is_leaf) pthread_mutex_destroy(&((cell *)tree)->mutex);
    release(tree);
}

/* ---- Summing up what is in a subtree: masses, quadrupoles, costs */

static void sum_leaf(leaf *self) {
    node *const sums = &self->node;
    vector moment = {0, 0, 0};
    sums->mass = 0;
    sums->cost = 0;
    for (long i = 0; i < sums->bodies; ++i) {
        const body *const one = self->bodies[i];
        sums->mass += one->mass;
        sums->cost += one->cost;
        moment = sum_of(moment, scaled(one->mass, one->position));
    }
    sums->leaves = 1;
    sums->centre_of_mass = scaled(1 / sums->mass, moment);
}

static void add_point(double *quadrupole, double mass, vector at) {
    const double square = inner(at, at);
    quadrupole[0] += mass * (3 * at.x * at.x - square);
    quadrupole[1] += mass * (3 * at.y * at.y - square);
    quadrupole[2] += mass * (3 * at.z * at.z - square);
    quadrupole[3] += mass * 3 * at.x * at.y;
    quadrupole[4] += mass * 3 * at.x * at.z;
    quadrupole[5] += mass * 3 * at.y * at.z;
}

/* After its children. */
static void sum_children(cell *self) {
    node *const sums = &self->node;
    vector moment = {0, 0, 0};
    sums->leaves = sums->bodies = sums->cost = 0; /* not is_leaf: others may look at it */
    sums->mass = 0;
    for (int i = 0; i < 8; ++i) {
        const node *const child = child_of(self, i);
        if (!child) continue;
        sums->leaves += child->leaves;
        sums->bodies += child->bodies;
        sums->cost += child->cost;
        sums->mass += child->mass;
        moment = sum_of(moment, scaled(child->mass, child->centre_of_mass));
    }
    sums->centre_of_mass = scaled(1 / sums->mass, moment);
    memset(self->quadrupole, 0, sizeof self->quadrupole);
    for (int i = 0; i < 8; ++i) {
        const node *const child = child_of(self, i);
        if (!child) continue;
        const vector from = difference(child->centre_of_mass, sums->centre_of_mass);
        add_point(self->quadrupole, child->mass, from);
        if (child->is_leaf) {
            const leaf *const in = (const leaf *)child;
            for (long k = 0; k < child->bodies; ++k)
                add_point(self->quadrupole, in->bodies[k]->mass,
                          difference(in->bodies[k]->position, child->centre_of_mass));
        } else {
            for (int k = 0; k < 6; ++k) self->quadrupole[k] += ((const cell *)child)->quadrupole[k];
        }
    }
}

static void sum_up(node *tree) {
    if (tree->is_leaf) {
        sum_leaf((leaf *)tree);
        return;
    }
    for (int i = 0; i < 8; ++i) {
        node *const child = child_of((cell *)tree, i);
        if (child) sum_up(child);
    }
    sum_children((cell *)tree);
}

typedef struct subtree {
    node *top;
    int depth;
} subtree;

/* A thread for each cell; below some depth the cells are small. */
static void sum_up_forking(void *argument) {
    const subtree *const tree = argument;
    if (tree->top->is_leaf || tree->depth >= summing_depth) {
        sum_up(tree->top);
        return;
    }
    thread threads[8];
    subtree parts[8];
    int forked = 0;
    for (int i = 0; i < 8; ++i) {
        node *const child = child_of((cell *)tree->top, i);
        if (child && child->is_leaf) sum_up(child);
        if (!child || child->is_leaf) continue;
        parts[forked] = (subtree){child, tree->depth + 1};
        fork_thread(&threads[forked], sum_up_forking, &parts[forked]);
        ++forked;
    }
    for (int i = 0; i < forked; ++i) join_thread(&threads[i]);
    sum_children((cell *)tree->top);
}

/* ---- Forces */

static void attract(body *one, vector from, double mass) {
    const double square = inner(from, from) + softening * softening;
    one->acceleration = sum_of(one->acceleration, scaled(mass / (square * sqrt(square)), from));
}

static void attract_by_cell(body *one, vector from, const cell *by) {
    const double *const q = by->quadrupole;
    const double inverse = 1 / (inner(from, from) + softening * softening);
    const double fifth = inverse * inverse * sqrt(inverse);
    const vector product = {q[0] * from.x + q[3] * from.y + q[4] * from.z,
                            q[3] * from.x + q[1] * from.y + q[5] * from.z,
                            q[4] * from.x + q[5] * from.y + q[2] * from.z};
    attract(one, from, by->node.mass);
    one->acceleration = sum_of(one->acceleration, scaled(2.5 * inner(from, product) * fifth * inverse, from));
    one->acceleration = difference(one->acceleration, scaled(fifth, product));
}

static void walk(const node *tree, body *one) {
    if (tree->is_leaf) {
        const leaf *const in = (const leaf *)tree;
        for (long i = 0; i < tree->bodies; ++i)
            if (in->bodies[i] != one)
                attract(one, difference(in->bodies[i]->position, one->position), in->bodies[i]->mass);
        one->cost += tree->bodies;
        return;
    }
    const cell *const in = (const cell *)tree;
    const vector from = difference(tree->centre_of_mass, one->position);
    if (in->width * in->width < opening * opening * inner(from, from)) {
        attract_by_cell(one, from, in);
        ++one->cost;
        return;
    }
    for (int i = 0; i < 8; ++i) {
        const node *const child = child_of(in, i);
        if (child) walk(child, one);
    }
}

static void compute_force(body *one) {
    one->acceleration = (vector){0, 0, 0};
    one->cost = 0;
    walk(&root->node, one);
}

static void compute_forces(node *tree) {
    for (long i = 0; tree->is_leaf && i < tree->bodies; ++i) compute_force(((leaf *)tree)->bodies[i]);
    for (int i = 0; !tree->is_leaf && i < 8; ++i) {
        node *const child = child_of((cell *)tree, i);
        if (child) compute_forces(child);
    }
}

/* A thread for each subtree, down to those of a few leaves. */
static void compute_forces_forking(void *argument) {
    node *const tree = argument;
    if (tree->leaves < leaves_of_a_thread) {
        compute_forces(tree);
        return;
    }
    thread threads[8];
    bool forked[8] = {false};
    for (int i = 0; i < 8; ++i) {
        node *const child = child_of((cell *)tree, i);
        forked[i] = child && !child->is_leaf;
        if (forked[i]) fork_thread(&threads[i], compute_forces_forking, child);
    }
    for (int i = 0; i < 8; ++i) {
        node *const child = child_of((cell *)tree, i);
        if (forked[i])
            join_thread(&threads[i]);
        else if (child)
            compute_forces(child);
    }
}

static void move_body(body *one) {
    one->velocity = sum_of(one->velocity, scaled(time_step, one->acceleration));
    one->position = sum_of(one->position, scaled(time_step, one->velocity));
}

/* ---- The fine-grained and the serial form */

typedef struct range {
    long first, end;
} range;

static range nth_range(long which, long of, long count) {
    return (range){count * which / of, count * (which + 1) / of};
}

static void insert_range(void *argument) {
    const range *const some = argument;
    for (long i = some->first; i < some->end; ++i) insert(&bodies[i]);
}

static void move_range(void *argument) {
    const range *const some = argument;
    for (long i = some->first; i < some->end; ++i) move_body(&bodies[i]);
}

static void run_fine(void) {
    const long parts = (body_count + bodies_of_a_thread - 1) / bodies_of_a_thread;
    range *const ranges = allocate((size_t)parts * sizeof *ranges);
    for (long i = 0; i < parts; ++i) ranges[i] = nth_range(i, parts, body_count);
    for (long step = 0; step < steps; ++step) {
        if (step >= untimed_steps) begin_parallel_part();
        plant();
        fork_each(insert_range, ranges, sizeof *ranges, parts);
        sum_up_forking(&(subtree){&root->node, 0});
        compute_forces_forking(&root->node);
        fork_each(move_range, ranges, sizeof *ranges, parts);
        fell(&root->node);
        if (step >= untimed_steps) end_parallel_part();
    }
    release(ranges);
}

/* ---- The coarse-grained form */

static pthread_barrier_t barrier;

/* The subtrees at zone_depth go round the processors; what is above them is left. */
static void sum_up_share(node *tree, int depth, long me, long *next) {
    if (tree->is_leaf || depth == zone_depth) {
        if ((*next)++ % processors == me) sum_up(tree);
        return;
    }
    for (int i = 0; i < 8; ++i) {
        node *const child = child_of((cell *)tree, i);
        if (child) sum_up_share(child, depth + 1, me, next);
    }
}

static void sum_up_top(node *tree, int depth) {
    if (tree->is_leaf || depth == zone_depth) return;
    for (int i = 0; i < 8; ++i) {
        node *const child = child_of((cell *)tree, i);
        if (child) sum_up_top(child, depth + 1);
    }
    sum_children((cell *)tree);
}

/* The bodies of my zone, costzones: those before which, in the order of the tree, there is a cost from `zone.first` to
 * `zone.end`. Returns how many were put into `mine`. */
static long collect(node *tree, long before, range zone, body **mine) {
    long count = 0;
    if (before >= zone.end || before + tree->cost <= zone.first) return 0;
    for (long i = 0; tree->is_leaf && i < tree->bodies; ++i) {
        body *const one = ((leaf *)tree)->bodies[i];
        if (before >= zone.first && before < zone.end) mine[count++] = one;
        before += one->cost;
    }
    for (int i = 0; !tree->is_leaf && i < 8; ++i) {
        node *const child = child_of((cell *)tree, i);
        if (!child) continue;
        count += collect(child, before, zone, mine + count);
        before += child->cost;
    }
    return count;
}

static void run_processor(void *argument) {
    const long me = *(long *)argument;
    body **const mine = allocate((size_t)body_count * sizeof *mine);
    const range begin = nth_range(me, processors, body_count);
    long count = 0;
    for (long i = begin.first; i < begin.end; ++i) mine[count++] = &bodies[i];
    for (long step = 0; step < steps; ++step) {
        if (me == 0 && step >= untimed_steps) begin_parallel_part();
        if (me == 0) plant();
        pthread_barrier_wait(&barrier);
        for (long i = 0; i < count; ++i) insert(mine[i]);
        pthread_barrier_wait(&barrier);
        sum_up_share(&root->node, 0, me, &(long){0});
        pthread_barrier_wait(&barrier);
        if (me == 0) sum_up_top(&root->node, 0);
        pthread_barrier_wait(&barrier);
        count = collect(&root->node, 0, nth_range(me, processors, root->node.cost), mine);
        pthread_barrier_wait(&barrier); /* nobody's cost changes before all have looked */
        for (long i = 0; i < count; ++i) compute_force(mine[i]);
        pthread_barrier_wait(&barrier);
        for (long i = 0; i < count; ++i) move_body(mine[i]);
        pthread_barrier_wait(&barrier);
        if (me == 0) fell(&root->node);
        if (me == 0 && step >= untimed_steps) end_parallel_part();
    }
    release(mine);
}

static void run_coarse(void) {
    long *const numbers = allocate((size_t)processors * sizeof *numbers);
    for (long i = 0; i < processors; ++i) numbers[i] = i;
    pthread_barrier_init(&barrier, NULL, (unsigned)processors);
    fork_each(run_processor, numbers, sizeof *numbers, processors);
    pthread_barrier_destroy(&barrier);
    release(numbers);
}

/* ---- Bodies, and whether the forces on them were right */

static vector random_direction(random_state *state, double length) {
    const double z = 2 * next_uniform(state) - 1, angle = 2 * 3.14159265358979323846 * next_uniform(state);
    const double across = sqrt(1 - z * z);
    return (vector){length * across * cos(angle), length * across * sin(angle), length * z};
}

/* Aarseth, Henon, Wielen 1974; the outermost thousandth of the mass is left out. */
static void make_plummer_model(void) {
    random_state state = 1;
    for (long i = 0; i < body_count; ++i) {
        const double within = 0.999 * (next_uniform(&state) + 1e-12);
        const double radius = 1 / sqrt(pow(within, -2.0 / 3) - 1);
        double q, height;
        do {
            q = next_uniform(&state);
            height = 0.1 * next_uniform(&state);
        } while (height > q * q * pow(1 - q * q, 3.5));
        const double speed = q * sqrt(2) * pow(1 + radius * radius, -0.25);
        bodies[i] = (body){.position = random_direction(&state, radius),
                           .velocity = random_direction(&state, speed),
                           .mass = 1.0 / (double)body_count,
                           .cost = 1};
    }
}

/* Sums over all bodies must give, for a sample of them, the accelerations of the last step, but for what a cell's
 * expansion leaves out: with masses and quadrupoles, terms of the fourth order. They are those of where the bodies were
 * before they moved. */
static bool is_right(void) {
    enum { sample = 100 };
    const double tolerance = 0.025 * opening * opening * opening * opening;
    double errors = 0, squares = 0;
    vector *const positions = allocate((size_t)body_count * sizeof *positions);
    for (long i = 0; i < body_count; ++i)
        positions[i] = difference(bodies[i].position, scaled(time_step, bodies[i].velocity));
    for (long i = 0; i < sample; ++i) {
        const long which = body_count * i / sample;
        body exact = {.mass = 0};
        for (long j = 0; j < body_count; ++j)
            if (j != which) attract(&exact, difference(positions[j], positions[which]), bodies[j].mass);
        const vector error = difference(bodies[which].acceleration, exact.acceleration);
        errors += inner(error, error);
        squares += inner(exact.acceleration, exact.acceleration);
    }
    release(positions);
    const double relative = sqrt(errors / squares);
    if (!(relative <= tolerance)) fprintf(stderr, "barnes_hut: the forces are wrong by %g of their size\n", relative);
    return relative <= tolerance;
}

int main(int argc, char **argv) {
    const number numbers[] = {{"bodies", &body_count, 2, 10000000, "bodies"},
                              {"steps", &steps, 1, 1000, "time steps"},
                              {"untimed", &untimed_steps, 0, 999, "of these, how many first ones are not timed"},
                              {"opening", &opening_percent, 10, 100,
                               "largest width of a cell that acts as a whole, in percent of its distance"}};
    read_options(argc, argv, "Moves bodies under their gravity, by Barnes' and Hut's octree.", numbers, 4, true);
    opening = (double)opening_percent / 100;
    if (untimed_steps >= steps) {
        fprintf(stderr, "barnes_hut: --untimed %ld leaves none of --steps %ld\n", untimed_steps, steps);
        return status_failed;
    }
    bodies = allocate((size_t)body_count * sizeof *bodies);
    make_plummer_model();
    if (form == form_coarse) {
        run_coarse();
    } else {
        run_fine();
    }
    const bool right = is_right();
    release(bodies);
    return report("barnes_hut", right);
}
