/* A library between a program and threads_in_constructor, whose constructor then runs before libcomity's. */
extern int ended_in_constructor;

__attribute__((visibility("default"))) int threads_ended(void);
int threads_ended(void) { return ended_in_constructor; }
