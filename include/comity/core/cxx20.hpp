// The C++ headers need C++20; the C ones, comity/*.h, do with C99 and C++11.
#pragma once

#if __cplusplus < 202002L
#error "Comity's C++ headers need C++20: compile with -std=c++20 (CMake: target_compile_features(... cxx_std_20))"
#endif
