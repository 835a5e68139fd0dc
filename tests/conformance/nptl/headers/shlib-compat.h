// Stands in for glibc's, which needs files of its build: the tests are built against the installed version only.
#pragma once
#define TEST_COMPAT(library, introduced, obsoleted) 0
#define compat_symbol_reference(library, local, symbol, version)
#define compat_symbol(library, local, symbol, version)
