// OMP_PLACES (OpenMP 5.1, section 6.5): sets of processors to which ranks can be bound. What a core, a last-level
// cache, a NUMA domain and a socket are, sys/topology knows.
#pragma once

#include "sys/topology.hpp"

#include <vector>

namespace comity::openmp {

using place_list = std::vector<sys::cpu_set>;

// What a list named in vain: processors that the machine does not have, or the process may not use.
struct unusable {
    unsigned processors = 0, places = 0; // how many, each time that it was named; places with none but such
    long first = 0;                      // processor
};

// Reads a list of places: an abstract name with a count or without, or a list such as "{0,1},{2:4:2},!{3}" or "{0}:4".
// False: it cannot be written so, and `places` is as it was. Processors that the machine does not have, or the process
// may not use, are left out, and so are places that have none of their own; `left_out` says which. Any thread, not in a
// signal handler.
bool read_places(const char *text, place_list &places, unusable &left_out);

// What OMP_PLACES said, in order; empty: there are no places. Written when the variable is read
// (environment.cpp), before anybody asks.
const place_list &places() noexcept;
void set_places(place_list list) noexcept;

// The processors of a place, for who binds a rank to it (sys::set_thread_cpus); null: there is no such place.
const sys::cpu_set *cpus_of_place(int place) noexcept;

} // namespace comity::openmp
