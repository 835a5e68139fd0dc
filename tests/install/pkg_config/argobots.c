/* A program written to Argobots: one ULT on the primary stream. */
#include <abt.h>

static void set(void *arg) { *(int *)arg = 42; }

int main(int argc, char **argv) {
    int value = 0;
    ABT_xstream stream;
    ABT_pool pool;
    ABT_thread thread;
    if (ABT_init(argc, argv) != ABT_SUCCESS) return 1;
    if (ABT_self_get_xstream(&stream) != ABT_SUCCESS) return 2;
    if (ABT_xstream_get_main_pools(stream, 1, &pool) != ABT_SUCCESS) return 3;
    if (ABT_thread_create(pool, set, &value, ABT_THREAD_ATTR_NULL, &thread) != ABT_SUCCESS) return 4;
    if (ABT_thread_free(&thread) != ABT_SUCCESS) return 5;
    if (ABT_finalize() != ABT_SUCCESS) return 6;
    return value == 42 ? 0 : 7;
}
