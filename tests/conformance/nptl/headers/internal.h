// What glibc's build has in each file, and its tests use.
#pragma once
#include <limits.h>
#define attribute_hidden __attribute__((visibility("hidden")))
#define attribute_tls_model_ie __attribute__((tls_model("initial-exec")))
#define inhibit_stack_protector __attribute__((optimize("no-stack-protector")))
#define libc_hidden_proto(name)
#define libc_hidden_def(name)
#define IS_IN(library) 0
