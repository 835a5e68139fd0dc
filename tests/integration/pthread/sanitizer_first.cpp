// Linked to the program: its sanitizer is there before any library's constructor has run, also those of the libraries
// that it needs itself, and leaves signal stacks and faults to the program.
#if __has_feature(thread_sanitizer)
extern "C" void __tsan_init();
[[gnu::section(".preinit_array"), gnu::used]] static void (*const first)() = __tsan_init;
#endif

#define COMITY_CALLED_BY_SANITIZER                                                                                     \
    extern "C" __attribute__((visibility("default"), disable_sanitizer_instrumentation,                                \
                              no_sanitize("address", "thread", "undefined")))
#define COMITY_OPTIONS "use_sigaltstack=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0"

COMITY_CALLED_BY_SANITIZER const char *__asan_default_options() { return "verify_asan_link_order=0:" COMITY_OPTIONS; }
COMITY_CALLED_BY_SANITIZER const char *__tsan_default_options() {
    return "die_after_fork=0:atexit_sleep_ms=50:" COMITY_OPTIONS;
}
