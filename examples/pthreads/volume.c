/* Volume rendering (section on SPLASH-2's ray casting): a ray through each pixel gathers light in a volume of densities
 * until what it has passed is opaque; an octree of the largest density in each part leads it past empty ones. Frames
 * are rendered from changing sides.
 *
 * Fine-grained, a thread is created for every 64 tiles of 4 x 4 pixels. Coarse-grained, one thread for each processor
 * lives for all frames: it has a queue of the tiles of its part of the image, and when that is empty it takes tiles
 * from the others' queues. */
#include "options.h"

#include <math.h>

enum { tile_width = 4, most_levels = 11 };
static const double opaque = 0.95; /* a ray ends when so much of what is behind is hidden */

static long side = 256, width = 375, frames = 4, tiles_of_a_thread = 64;
static long tiles_across; /* in a row of the image */

typedef unsigned char density;

/* largest[0] has the largest density at the corners of each voxel, largest[k + 1] of 2 x 2 x 2 of largest[k]. */
static density *densities, *largest[most_levels];
static long sides[most_levels];
static int levels;

static float opacities[256]; /* of a step of one voxel, by density */
static float *images;        /* frame after frame, row after row */

typedef struct vector {
    double x, y, z;
} vector;

static inline vector along(vector from, double by, vector direction) {
    return (vector){from.x + by * direction.x, from.y + by * direction.y, from.z + by * direction.z};
}

static inline density density_at(long x, long y, long z) { return densities[(z * side + y) * side + x]; }

/* ---- One ray */

/* How the densities change around a place; its length is that of the change in one voxel. */
static vector gradient_at(long x, long y, long z) {
    const long x0 = x > 0 ? x - 1 : x, y0 = y > 0 ? y - 1 : y, z0 = z > 0 ? z - 1 : z;
    return (vector){0.5 * (density_at(x + 1, y, z) - density_at(x0, y, z)),
                    0.5 * (density_at(x, y + 1, z) - density_at(x, y0, z)),
                    0.5 * (density_at(x, y, z + 1) - density_at(x, y, z0))};
}

/* Between the eight corners of the voxel. */
static double interpolate(vector at, long x, long y, long z) {
    const double u = at.x - (double)x, v = at.y - (double)y, w = at.z - (double)z;
    const density *const low = &densities[(z * side + y) * side + x], *const high = low + side * side;
    const double a = (1 - u) * low[0] + u * low[1], b = (1 - u) * low[side] + u * low[side + 1];
    const double c = (1 - u) * high[0] + u * high[1], d = (1 - u) * high[side] + u * high[side + 1];
    return (1 - w) * ((1 - v) * a + v * b) + w * ((1 - v) * c + v * d);
}

typedef struct ray {
    vector start, direction; /* of length 1: step k is at start + k * direction */
    long first, end;         /* the steps within the volume */
} ray;

/* The part of the ray between two planes, as steps. */
static void clip(double start, double direction, double low, double high, double *from, double *to) {
    if (fabs(direction) < 1e-12) {
        if (start < low || start >= high) *to = *from - 1;
        return;
    }
    const double a = (low - start) / direction, b = (high - start) / direction;
    *from = fmax(*from, fmin(a, b));
    *to = fmin(*to, fmax(a, b));
}

/* The largest part of the octree around the voxel that nothing can be seen in: returns its level, or -1. */
static int empty_level(long x, long y, long z) {
    int level = -1;
    for (int next = 0; next < levels; ++next) {
        const long n = sides[next];
        if (opacities[largest[next][((z >> next) * n + (y >> next)) * n + (x >> next)]] > 0) break;
        level = next;
    }
    return level;
}

/* The first step after `at` that is outside of the part of the octree. */
static long step_behind(const ray *self, long at, int level, long x, long y, long z) {
    const double size = (double)(1L << level);
    const double low[3] = {(double)(x >> level) * size, (double)(y >> level) * size, (double)(z >> level) * size};
    const double start[3] = {self->start.x, self->start.y, self->start.z};
    const double direction[3] = {self->direction.x, self->direction.y, self->direction.z};
    double leaves = INFINITY;
    for (int i = 0; i < 3; ++i)
        if (fabs(direction[i]) > 1e-12)
            leaves = fmin(leaves, ((direction[i] > 0 ? low[i] + size : low[i]) - start[i]) / direction[i]);
    const long behind = (long)ceil(fmin(leaves, (double)self->end));
    return behind > at ? behind : at + 1;
}

/* The light that comes along the ray, from 0 to 1. The simple way passes no part by. */
static float cast(const ray *self, bool simply) {
    double light = 0, hidden = 0;
    for (long step = self->first; step < self->end;) {
        const vector at = along(self->start, (double)step, self->direction);
        const long x = (long)at.x, y = (long)at.y, z = (long)at.z;
        const int empty = simply ? -1 : empty_level(x, y, z);
        if (empty >= 0) {
            step = step_behind(self, step, empty, x, y, z);
            continue;
        }
        const double opacity = opacities[(int)interpolate(at, x, y, z)];
        if (opacity > 0) {
            const vector g = gradient_at(x, y, z);
            const double length = sqrt(g.x * g.x + g.y * g.y + g.z * g.z);
            const vector d = self->direction; /* the light comes from the eye */
            const double facing = length > 0 ? fabs(g.x * d.x + g.y * d.y + g.z * d.z) / length : 0;
            light += (1 - hidden) * opacity * (0.2 + 0.8 * facing);
            hidden += (1 - hidden) * opacity;
            if (hidden > opaque) break;
        }
        ++step;
    }
    return (float)light;
}

/* Parallel rays; the volume turns about two axes from frame to frame. */
static float render_pixel(long frame, long column, long row, bool simply) {
    const double turn = 0.3 + 0.4 * (double)frame, tilt = 0.2 + 0.1 * (double)frame;
    const vector forward = {cos(tilt) * sin(turn), sin(tilt), cos(tilt) * cos(turn)};
    const vector right = {cos(turn), 0, -sin(turn)};
    const vector up = {-sin(tilt) * sin(turn), cos(tilt), -sin(tilt) * cos(turn)};
    const double middle = (double)(side - 1) / 2, size = 1.2 * (double)side, pixel = size / (double)width;
    ray one = {.direction = forward};
    one.start = along((vector){middle, middle, middle}, pixel * ((double)column + 0.5) - size / 2, right);
    one.start = along(one.start, pixel * ((double)row + 0.5) - size / 2, up);
    one.start = along(one.start, -(double)side, forward); /* outside */
    double from = 0, to = 2 * (double)side;
    const double high = (double)(side - 1) - 1e-6;
    clip(one.start.x, forward.x, 0, high, &from, &to);
    clip(one.start.y, forward.y, 0, high, &from, &to);
    clip(one.start.z, forward.z, 0, high, &from, &to);
    one.first = (long)ceil(from + 1e-6); /* not on the very surface, where rounding may lead outside */
    one.end = (long)floor(to - 1e-6) + 1;
    return from <= to ? cast(&one, simply) : 0;
}

static void render_tile(long frame, long tile) {
    const long left = tile % tiles_across * tile_width, top = tile / tiles_across * tile_width;
    for (long row = top; row < top + tile_width && row < width; ++row)
        for (long column = left; column < left + tile_width && column < width; ++column)
            images[(frame * width + row) * width + column] = render_pixel(frame, column, row, false);
}

/* ---- The fine-grained and the serial form */

typedef struct share {
    long frame, first, end; /* tiles */
} share;

static void render_share(void *argument) {
    const share *const some = argument;
    for (long tile = some->first; tile < some->end; ++tile) render_tile(some->frame, tile);
}

static void run_fine(void) {
    const long tiles = tiles_across * tiles_across, count = (tiles + tiles_of_a_thread - 1) / tiles_of_a_thread;
    share *const shares = allocate((size_t)count * sizeof *shares);
    for (long frame = 0; frame < frames; ++frame) {
        for (long i = 0; i < count; ++i) {
            const long first = i * tiles_of_a_thread, end = first + tiles_of_a_thread;
            shares[i] = (share){frame, first, end < tiles ? end : tiles};
        }
        fork_each(render_share, shares, sizeof *shares, count);
    }
    release(shares);
}

/* ---- The coarse-grained form */

typedef struct queue {
    pthread_mutex_t mutex;
    long first, end; /* tiles */
    long next;       /* under the mutex */
} queue;

static queue *queues;
static pthread_barrier_t barrier;

/* Returns a tile of the frame, or -1. */
static long take_tile(queue *from) {
    pthread_mutex_lock(&from->mutex);
    const long tile = from->next < from->end ? from->next++ : -1;
    pthread_mutex_unlock(&from->mutex);
    return tile;
}

static void run_processor(void *argument) {
    queue *const mine = argument;
    const long me = mine - queues;
    for (long frame = 0; frame < frames; ++frame) {
        for (long i = 0; i < processors; ++i)
            for (long tile; (tile = take_tile(&queues[(me + i) % processors])) >= 0;) render_tile(frame, tile);
        pthread_barrier_wait(&barrier); /* all tiles are taken and done */
        mine->next = mine->first;
        pthread_barrier_wait(&barrier); /* all queues are full again */
    }
}

static void run_coarse(void) {
    const long tiles = tiles_across * tiles_across;
    queues = allocate((size_t)processors * sizeof *queues);
    for (long i = 0; i < processors; ++i) {
        const long first = tiles * i / processors;
        queues[i] = (queue){.first = first, .end = tiles * (i + 1) / processors, .next = first};
        pthread_mutex_init(&queues[i].mutex, NULL);
    }
    pthread_barrier_init(&barrier, NULL, (unsigned)processors);
    fork_each(run_processor, queues, sizeof *queues, processors);
    pthread_barrier_destroy(&barrier);
    for (long i = 0; i < processors; ++i) pthread_mutex_destroy(&queues[i].mutex);
    release(queues);
}

/* ---- The volume, its octree, and whether the images are right */

/* A head, as tomography sees it: skin, skull, brain with its folds, the hollows of the eyes and the mouth. */
static density density_of_head(double x, double y, double z) {
    const double r = sqrt(x * x / 0.64 + y * y / 0.9 + z * z / 0.81);
    const double eyes = hypot(hypot(fabs(x) - 0.3, y - 0.15), z + 0.8), mouth = hypot(hypot(x, y + 0.45), z + 0.75);
    if (r > 1) return 0;
    if (eyes < 0.16 || mouth < 0.2) return 20;
    if (r > 0.93) return 70;
    if (r > 0.84) return 210;
    return (density)(95 + 25 * sin(21 * x) * sin(17 * y + 3 * x) * sin(19 * z));
}

static void make_volume(void) {
    densities = allocate((size_t)(side * side * side));
    for (long z = 0; z < side; ++z)
        for (long y = 0; y < side; ++y)
            for (long x = 0; x < side; ++x) {
                const double scale = 2 / (double)(side - 1);
                densities[(z * side + y) * side + x] =
                    density_of_head((double)x * scale - 1, (double)y * scale - 1, (double)z * scale - 1);
            }
    for (int i = 0; i < 256; ++i)
        opacities[i] = i < 50 ? 0 : i < 130 ? 0.0004f * (float)(i - 49) : 0.003f * (float)(i - 129);
}

static density largest_below(int level, long x, long y, long z) {
    density most = 0;
    const long n = level == 0 ? side : sides[level - 1], scale = level == 0 ? 1 : 2;
    const density *const from = level == 0 ? densities : largest[level - 1];
    for (int i = 0; i < 8; ++i) {
        const long u = scale * x + (i & 1), v = scale * y + (i >> 1 & 1), w = scale * z + (i >> 2);
        if (u < n && v < n && w < n && from[(w * n + v) * n + u] > most) most = from[(w * n + v) * n + u];
    }
    return most;
}

static void make_octree(void) {
    for (levels = 0; levels < most_levels && (levels == 0 || sides[levels - 1] > 1); ++levels) {
        const long n = levels == 0 ? side - 1 : (sides[levels - 1] + 1) / 2;
        sides[levels] = n;
        largest[levels] = allocate((size_t)(n * n * n));
        for (long z = 0; z < n; ++z)
            for (long y = 0; y < n; ++y)
                for (long x = 0; x < n; ++x) largest[levels][(z * n + y) * n + x] = largest_below(levels, x, y, z);
    }
}

/* Pixels here and there in every frame must be as they are without the octree. */
static bool is_right(void) {
    enum { distance = 89 };
    const double tolerance = 1e-5;
    for (long i = 0; i < frames * width * width; i += distance) {
        const long frame = i / (width * width), row = i / width % width, column = i % width;
        const float expected = render_pixel(frame, column, row, true);
        if (fabs(images[i] - expected) <= tolerance) continue;
        fprintf(stderr, "volume: pixel %ld of row %ld in frame %ld is %g instead of %g\n", column, row, frame,
                images[i], expected);
        return false;
    }
    return true;
}

int main(int argc, char **argv) {
    const number numbers[] = {{"side", &side, 2, 1024, "voxels along a side of the volume"},
                              {"width", &width, 1, 10000, "pixels along a side of the image"},
                              {"frames", &frames, 1, 1000, "images"},
                              {"tiles", &tiles_of_a_thread, 1, 1000000, "tiles of 4 x 4 pixels that a thread renders"}};
    read_options(argc, argv, "Renders a volume by casting rays.", numbers, 4, true);
    tiles_across = (width + tile_width - 1) / tile_width;
    make_volume();
    make_octree();
    images = allocate((size_t)(frames * width * width) * sizeof *images);
    for (long i = 0; i < frames * width * width; ++i) images[i] = -1;
    begin_parallel_part();
    if (form == form_coarse) {
        run_coarse();
    } else {
        run_fine();
    }
    end_parallel_part();
    const bool right = is_right();
    release(images);
    for (int i = 0; i < levels; ++i) release(largest[i]);
    release(densities);
    return report("volume", right);
}
