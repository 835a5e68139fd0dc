// libomp exports what it shares with libgomp a second time, under libgomp's version nodes, for programs that were
// linked with libgomp and get libomp in its place.
#if defined(__x86_64__)
#define JUMP "jmp "
#elif defined(__aarch64__)
#define JUMP "b "
#endif
#define OLD_VERSION(NAME, NODE, TAG)                                                                                   \
    __asm__(".pushsection .text\n.globl " #TAG "_" #NAME "\n.type " #TAG "_" #NAME ", %function\n" #TAG "_" #NAME      \
            ": " JUMP #NAME "\n.size " #TAG "_" #NAME ", . - " #TAG "_" #NAME "\n.symver " #TAG "_" #NAME "," #NAME    \
            "@" NODE "\n.popsection");
#include "personality/openmp/kmp/old_versions.def"
