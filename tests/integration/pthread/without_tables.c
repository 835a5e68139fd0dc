// Compiled without unwind tables: nothing unwinds the stack of this function.
#include <pthread.h>
#include <unistd.h>

void sleeps_without_tables(void);

void sleeps_without_tables(void) {
    for (;;) sleep(1);
}
