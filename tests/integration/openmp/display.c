// What %i of an affinity format is to the thread: prints the field, the kernel's number of it and pthread_self.
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
    char field[64];
    omp_capture_affinity(field, sizeof field, "%i");
    printf("%s %ld 0x%lx\n", field, syscall(SYS_gettid), (unsigned long)pthread_self());
    int threads = 0;
#pragma omp parallel num_threads(3) reduction(+ : threads)
    {
        ++threads;
#pragma omp critical
        {
            char mine[64];
            omp_capture_affinity(mine, sizeof mine, "%i");
            printf("%s %ld 0x%lx\n", mine, syscall(SYS_gettid), (unsigned long)pthread_self());
        }
    }
    fflush(stdout);
    omp_display_env(0);
    return threads != 3;
}
