// An exception that leaves a region ends the process, as for any function that is noexcept.
#include "check.h"
#include <omp.h>
#include <stdexcept>

int main() {
    witness_comity();
#pragma omp parallel num_threads(4)
    if (omp_get_thread_num() == 3) throw std::runtime_error("nobody catches this");
    return report();
}
