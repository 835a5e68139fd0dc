/* A library that a program loads late, with thread-local variables of both models. */
/* volatile: the compiler must not see that it never changes */
static __thread volatile int early __attribute__((tls_model("initial-exec"))) = 42;
static __thread volatile int general __attribute__((tls_model("global-dynamic"))) = 43;

__attribute__((visibility("default"))) int late_initial_exec(void) { return early; }
__attribute__((visibility("default"))) int late_global_dynamic(void) { return general++; }
