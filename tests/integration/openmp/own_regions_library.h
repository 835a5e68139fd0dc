/* What OpenMP answers to code that asks where it is. */
struct view {
    int in_parallel, level, active_level; /* by COMITY_OWN_REGIONS */
    int number, threads;                  /* always the truth */
    int width;                            /* of the region that the library opened; 1: it opened none */
};

void library_looks(struct view *outside, struct view *inside);
void library_calls_back(void (*f)(void)); /* from a region of the library's own */
