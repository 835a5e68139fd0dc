/* The options of the seven programs: numbers with a range, and the form of the run (counting.h). */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "counting.h"

#include <errno.h>

typedef struct number {
    const char *name; /* without the dashes */
    long *value;      /* holds the default, which is the paper's */
    long least, most;
    const char *meaning;
} number;

enum { most_processors = 1024 };
static long processors; /* in a coarse-grained run */

static void print_help(const char *program, const char *purpose, const number *numbers, int count, bool has_coarse) {
    printf("usage: %s [options]\n%s\n\n", program, purpose);
    for (int i = 0; i < count; ++i)
        printf("  --%-12s N  %s: %ld to %ld (default: %ld)\n", numbers[i].name, numbers[i].meaning, numbers[i].least,
               numbers[i].most, *numbers[i].value);
    printf("  --%-12s    no threads: calls instead\n", "serial");
    if (has_coarse) printf("  --%-12s N  N threads, one for each processor\n", "coarse");
    printf("\nWithout --serial%s a thread is created for each small piece of work.\n",
           has_coarse ? " and --coarse" : "");
}

static long read_number(const char *program, const char *name, const char *text, long least, long most) {
    char *end = NULL;
    errno = 0;
    const long value = text ? strtol(text, &end, 10) : 0;
    if (!text || end == text || *end || errno || value < least || value > most) {
        fprintf(stderr, "%s: --%s needs a number from %ld to %ld%s%s\n", program, name, least, most,
                text ? ", not " : "", text ? text : "");
        exit(status_failed);
    }
    return value;
}

/* Reads the command line into the numbers and `form`; on --help and on an error the program ends. */
static void read_options(int argc, char **argv, const char *purpose, const number *numbers, int count,
                         bool has_coarse) {
    const char *const slash = strrchr(argv[0], '/');
    const char *const program = slash ? slash + 1 : argv[0];
    for (int i = 1; i < argc; ++i) {
        const char *const name = strncmp(argv[i], "--", 2) == 0 ? argv[i] + 2 : "";
        int known = 0;
        while (known < count && strcmp(name, numbers[known].name) != 0) ++known;
        if (known < count) {
            const number *const found = &numbers[known];
            ++i; /* argv[argc] is NULL */
            *found->value = read_number(program, name, argv[i], found->least, found->most);
        } else if (strcmp(name, "serial") == 0) {
            form = form_serial;
        } else if (has_coarse && strcmp(name, "coarse") == 0) {
            form = form_coarse;
            processors = read_number(program, name, argv[++i], 1, most_processors);
        } else if (strcmp(name, "help") == 0) {
            print_help(program, purpose, numbers, count, has_coarse);
            exit(status_right);
        } else {
            fprintf(stderr, "%s: no option %s; see --help\n", program, argv[i]);
            exit(status_failed);
        }
    }
}

/* ---- Random numbers of a fixed seed, the same on every machine (splitmix64) */

typedef unsigned long long random_state;

static inline unsigned long long next_random(random_state *state) {
    unsigned long long z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* From 0 to 1, 1 excluded. */
static inline double next_uniform(random_state *state) { return (double)(next_random(state) >> 11) * 0x1p-53; }

#endif
