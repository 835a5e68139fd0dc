// Prints the loop rate that the harness hands to every contender (see work.hpp).
#include <cstdio>

#include "work.hpp"

int main() { std::printf("{\"program\":\"rate\",\"iterations_per_cycle\":%.9f}\n", bench::calibrate_rate()); }
