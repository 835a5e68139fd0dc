/* A decision tree builder (section on the data classifier): ID3 with continuous attributes as in C4.5. At each node the
 * instances are sorted by each attribute to find its best threshold; the attribute of the best gain ratio splits them.
 *
 * A thread is forked for each recursive call of the builder and of the quicksort; from 2000 instances down both are
 * serial. What is sorted is allocated for the time of the sort, and so are the lists of the two sides. */
#include "options.h"

#include <math.h>

enum { attributes = 4, shortest_sort = 16 };
static long instance_count = 133999, serial_below = 2000, least_in_leaf = 100;

typedef struct instance {
    float values[attributes];
    bool class;
} instance;

static instance *instances;

/* ---- Parallel quicksort */

typedef struct key {
    float value;
    bool class;
} key;

typedef struct keys {
    key *first;
    long count;
} keys;

static void insertion_sort(keys some) {
    for (long i = 1; i < some.count; ++i) {
        const key moved = some.first[i];
        long to = i;
        for (; to > 0 && some.first[to - 1].value > moved.value; --to) some.first[to] = some.first[to - 1];
        some.first[to] = moved;
    }
}

static float middle_of(float a, float b, float c) { return fmaxf(fminf(a, b), fminf(fmaxf(a, b), c)); }

/* Hoare's: afterwards the first part, whose size is returned, is not above the second; both have keys. */
static long partition(keys some) {
    key *const first = some.first;
    const float pivot = middle_of(first[0].value, first[some.count / 2].value, first[some.count - 1].value);
    long low = -1, high = some.count;
    for (;;) {
        do ++low;
        while (first[low].value < pivot);
        do --high;
        while (first[high].value > pivot);
        if (low >= high) break;
        const key moved = first[low];
        first[low] = first[high];
        first[high] = moved;
    }
    /* The pivot may be the last key: then it must not be all of the second part. */
    return high + 1 < some.count ? high + 1 : high;
}

static void sort(void *argument) {
    const keys some = *(const keys *)argument;
    if (some.count <= shortest_sort) {
        insertion_sort(some);
        return;
    }
    const long left = partition(some);
    keys parts[2] = {{some.first, left}, {some.first + left, some.count - left}};
    if (some.count <= serial_below) {
        for (int i = 0; i < 2; ++i) sort(&parts[i]);
        return;
    }
    thread threads[2];
    for (int i = 0; i < 2; ++i) fork_thread(&threads[i], sort, &parts[i]);
    for (int i = 0; i < 2; ++i) join_thread(&threads[i]);
}

/* ---- The best split of a node */

typedef struct tree {
    long counts[2]; /* instances of each class */
    int attribute;
    float threshold;       /* the left side has values up to it */
    struct tree *sides[2]; /* NULL in a leaf */
} tree;

typedef struct members {
    int *list; /* numbers of instances */
    long count;
} members;

typedef struct split {
    double gain, ratio; /* of information, in bits; and by that of the split itself */
    float threshold;
} split;

static double *weighted_logs; /* n * log2(n) for each number of instances */

static void make_logs(void) {
    weighted_logs = allocate((size_t)(instance_count + 1) * sizeof *weighted_logs);
    weighted_logs[0] = 0;
    for (long i = 1; i <= instance_count; ++i) weighted_logs[i] = (double)i * log2((double)i);
}

/* The information of two counts, times their sum. */
static double information(long a, long b) { return weighted_logs[a + b] - weighted_logs[a] - weighted_logs[b]; }

static atomic_bool unsorted; /* the check's: set when a sort was wrong */

/* The threshold of the largest gain, with the least that a side may have on both. */
static split best_threshold(const keys sorted, const long *counts) {
    const double all = (double)sorted.count, whole = information(counts[0], counts[1]);
    split best = {0, 0, 0};
    long left[2] = {0, 0};
    for (long i = 0; i + 1 < sorted.count; ++i) {
        const float here = sorted.first[i].value, next = sorted.first[i + 1].value;
        ++left[sorted.first[i].class];
        if (here > next) atomic_store_explicit(&unsorted, true, memory_order_relaxed);
        if (here == next || i + 1 < least_in_leaf || sorted.count - i - 1 < least_in_leaf) continue;
        const double parts = information(left[0], left[1]) + information(counts[0] - left[0], counts[1] - left[1]);
        const double gain = (whole - parts) / all;
        if (gain > best.gain) best = (split){gain, gain * all / information(i + 1, sorted.count - i - 1), here};
    }
    return best;
}

static split best_of_attribute(members some, const long *counts, int attribute) {
    keys sorted = {allocate((size_t)some.count * sizeof(key)), some.count};
    for (long i = 0; i < some.count; ++i) {
        const instance *const one = &instances[some.list[i]];
        sorted.first[i] = (key){one->values[attribute], one->class};
    }
    sort(&sorted);
    const split best = best_threshold(sorted, counts);
    release(sorted.first);
    return best;
}

/* As in C4.5, only those of at least the mean gain take part: the ratio alone would favour the least balanced split.
 * Returns whether there is one. */
static bool choose_split(members some, tree *node) {
    split splits[attributes];
    double sum = 0, best = 0;
    int useful = 0;
    for (int i = 0; i < attributes; ++i) {
        splits[i] = best_of_attribute(some, node->counts, i);
        sum += splits[i].gain;
        useful += splits[i].gain > 0;
    }
    for (int i = 0; i < attributes; ++i) {
        if (splits[i].gain * useful < sum * (1 - 1e-9) || splits[i].ratio <= best) continue;
        best = splits[i].ratio;
        node->attribute = i;
        node->threshold = splits[i].threshold;
    }
    return best > 0;
}

/* ---- The tree */

typedef struct building {
    members some;
    tree *node; /* the result */
} building;

static inline int side_of(const tree *node, const instance *one) {
    return one->values[node->attribute] > node->threshold;
}

static void share_out(members some, const tree *node, members *sides) {
    long counts[2] = {0, 0};
    for (long i = 0; i < some.count; ++i) ++counts[side_of(node, &instances[some.list[i]])];
    for (int i = 0; i < 2; ++i) sides[i] = (members){allocate((size_t)counts[i] * sizeof(int)), 0};
    for (long i = 0; i < some.count; ++i) {
        members *const to = &sides[side_of(node, &instances[some.list[i]])];
        to->list[to->count++] = some.list[i];
    }
}

static void build(void *argument) {
    building *const self = argument;
    const members some = self->some;
    tree *const node = self->node = allocate(sizeof *node);
    *node = (tree){{0, 0}, 0, 0, {NULL, NULL}};
    for (long i = 0; i < some.count; ++i) ++node->counts[instances[some.list[i]].class];
    if (node->counts[0] == 0 || node->counts[1] == 0 || some.count < 2 * least_in_leaf || !choose_split(some, node))
        return;
    members sides[2];
    building parts[2];
    thread threads[2];
    const bool forks = some.count > serial_below;
    share_out(some, node, sides);
    for (int i = 0; i < 2; ++i) {
        parts[i].some = sides[i];
        if (forks)
            fork_thread(&threads[i], build, &parts[i]);
        else
            build(&parts[i]);
    }
    for (int i = 0; i < 2; ++i) {
        if (forks) join_thread(&threads[i]);
        node->sides[i] = parts[i].node;
        release(sides[i].list);
    }
}

static tree *build_tree(void) {
    building all = {{allocate((size_t)instance_count * sizeof(int)), instance_count}, NULL};
    for (long i = 0; i < instance_count; ++i) all.some.list[i] = (int)i;
    build(&all);
    release(all.some.list);
    return all.node;
}

static void release_tree(tree *node) {
    for (int i = 0; node->sides[0] && i < 2; ++i) release_tree(node->sides[i]);
    release(node);
}

/* ---- Instances, and whether the tree is right */

/* The classes are those of clusters of unequal size, which overlap, and one instance in ten has the other class. */
static void make_instances(void) {
    enum { clusters = 24 };
    random_state state = 1;
    double centres[clusters][attributes], width[clusters];
    for (int i = 0; i < clusters; ++i) {
        width[i] = 0.02 + 0.1 * next_uniform(&state);
        for (int k = 0; k < attributes; ++k) centres[i][k] = next_uniform(&state);
    }
    instances = allocate((size_t)instance_count * sizeof *instances);
    for (long i = 0; i < instance_count; ++i) {
        const double u = next_uniform(&state);
        const int cluster = (int)(clusters * u * u);
        for (int k = 0; k < attributes; ++k) {
            double bell = -3; /* a sum of six uniform numbers is nearly normal */
            for (int j = 0; j < 6; ++j) bell += next_uniform(&state);
            instances[i].values[k] = (float)(centres[cluster][k] + width[cluster] * bell);
        }
        instances[i].class = (cluster % 2 == 1) != (next_uniform(&state) < 0.1);
    }
}

static bool is_same(const tree *a, const tree *b) {
    if (memcmp(a->counts, b->counts, sizeof a->counts) != 0 || !a->sides[0] != !b->sides[0]) return false;
    if (!a->sides[0]) return true;
    return a->attribute == b->attribute && a->threshold == b->threshold && is_same(a->sides[0], b->sides[0]) &&
           is_same(a->sides[1], b->sides[1]);
}

/* Takes the instances that come down to each leaf off its counts. */
static void classify_all(tree *root) {
    for (long i = 0; i < instance_count; ++i) {
        tree *at = root;
        while (at->sides[0]) at = at->sides[side_of(at, &instances[i])];
        --at->counts[instances[i].class];
    }
}

static bool is_counted(const tree *node) {
    if (!node->sides[0]) return node->counts[0] == 0 && node->counts[1] == 0;
    return is_counted(node->sides[0]) && is_counted(node->sides[1]);
}

/* Every sort was right, the tree is the one that calls alone build, and each instance comes down to the leaf that
 * counted it. */
static bool is_right(tree *root) {
    bool right = !atomic_load_explicit(&unsorted, memory_order_relaxed);
    if (!right) fprintf(stderr, "decision_tree: what was sorted is not in order\n");
    if (right && form != form_serial) {
        const form_t real = form;
        form = form_serial;
        tree *const serial = build_tree();
        form = real;
        right = is_same(root, serial);
        release_tree(serial);
        if (!right) fprintf(stderr, "decision_tree: not the tree that a serial run builds\n");
    }
    if (!right) return false;
    classify_all(root);
    right = is_counted(root);
    if (!right) fprintf(stderr, "decision_tree: a leaf did not count the instances that belong to it\n");
    return right;
}

int main(int argc, char **argv) {
    const number numbers[] = {
        {"instances", &instance_count, 1, 100000000, "instances of four continuous attributes"},
        {"serial-below", &serial_below, 1, 100000000, "instances from which on down no thread is forked"},
        {"leaf", &least_in_leaf, 1, 1000000, "the least instances of a side of a split"}};
    read_options(argc, argv, "Builds a decision tree for two classes.", numbers, 3, false);
    make_instances();
    make_logs();
    begin_parallel_part();
    tree *const root = build_tree();
    end_parallel_part();
    const bool right = is_right(root);
    release_tree(root);
    release(weighted_logs);
    release(instances);
    return report("decision_tree", right);
}
