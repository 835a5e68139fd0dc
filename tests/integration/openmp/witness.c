/* The witness for programs that are not C. */
#define witness_comity check_is_comity
#include "check.h"
#undef witness_comity

void witness_comity(void) {
    check_is_comity();
    (void)failures;
    (void)report;
}
