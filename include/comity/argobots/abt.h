/* Argobots 1.2's interface on Comity: programs written to it recompile unchanged. libcomity_abt.so implements it.
 *
 * The page docs/argobots.md says how to build, what differs from Argobots, and what Comity offers in the place of each
 * function.
 *
 * Words: an *execution stream* runs a scheduler, on whichever hart is free; a *work unit* is a ULT, which can wait, or
 * a tasklet, which cannot; a *pool* holds work units that are ready. */
#ifndef ABT_H_INCLUDED
#define ABT_H_INCLUDED

#include "abt_functions.h"
#include "abt_types.h"

#endif
