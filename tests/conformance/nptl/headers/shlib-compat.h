// Stands in for glibc's, which needs files of its build: the tests are built against the installed version only.
#pragma once
#define TEST_COMPAT(library, introduced, obsoleted) 0
#ifdef __x86_64__
#define compat_symbol_reference(library, local, symbol, version) __asm__(".symver " #local "," #symbol "@GLIBC_2.2.5")
#else
#define compat_symbol_reference(library, local, symbol, version) __asm__(".symver " #local "," #symbol "@GLIBC_2.17")
#endif
#define compat_symbol(library, local, symbol, version)
