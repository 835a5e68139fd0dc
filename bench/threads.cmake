# The benchmarks of user-level threads: bench/WORKLOAD/LIBRARY.cpp becomes build/PRESET/bench/WORKLOAD/LIBRARY for each library
# that is found. Comity's programs, and those that need no other library, are built by default: the tests run them. The peers'
# are built by the target bench_programs only. A peer that is missing is left out, with a line that says so.
set(bench_workloads forkjoin yield switch fib nqueens uts matmul mutex barrier pingpong wake parked)
set(bench_libraries call serial pthread comity)
set(bench_missing "")

# A library without a CMake package: bench_find(NAME HEADER LIBRARY PACKAGE) makes the target bench_peer_NAME.
function(bench_find name header library package)
  find_path(COMITY_BENCH_${name}_INCLUDE ${header} DOC "Where ${package} has ${header}")
  find_library(COMITY_BENCH_${name}_LIBRARY ${library} DOC "${package}, a peer of the benchmarks")
  mark_as_advanced(COMITY_BENCH_${name}_INCLUDE COMITY_BENCH_${name}_LIBRARY)
  if(COMITY_BENCH_${name}_INCLUDE AND COMITY_BENCH_${name}_LIBRARY)
    add_library(bench_peer_${name} INTERFACE)
    target_include_directories(bench_peer_${name} SYSTEM INTERFACE ${COMITY_BENCH_${name}_INCLUDE})
    target_link_libraries(bench_peer_${name} INTERFACE ${COMITY_BENCH_${name}_LIBRARY})
  endif()
endfunction()

# A library with a CMake package: its imported targets, if there are any.
function(bench_take name)
  add_library(bench_peer_${name} INTERFACE)
  target_link_libraries(bench_peer_${name} INTERFACE ${ARGN})
endfunction()

add_library(bench_peer_comity INTERFACE)
target_link_libraries(bench_peer_comity INTERFACE comity::comity)
find_package(Boost 1.70 QUIET COMPONENTS fiber context)
if(TARGET Boost::fiber)
  bench_take(boost_fiber Boost::fiber Boost::context)
  bench_take(boost_context Boost::context)
endif()
find_package(TBB QUIET CONFIG)
if(TARGET TBB::tbb)
  bench_take(tbb TBB::tbb)
endif()
find_package(libfork QUIET CONFIG)
if(TARGET libfork::libfork)
  bench_take(libfork libfork::libfork)
endif()
bench_find(argobots abt.h abt Argobots)
bench_find(massivethreads myth/myth.h myth MassiveThreads)
bench_find(qthreads qthread/qthread.h qthread Qthreads)
foreach(peer boost_fiber boost_context tbb libfork argobots massivethreads qthreads)
  if(TARGET bench_peer_${peer})
    list(APPEND bench_libraries ${peer})
  else()
    list(APPEND bench_missing ${peer})
  endif()
endforeach()

file(GLOB bench_thread_headers CONFIGURE_DEPENDS support/*.hpp support/library/*.hpp)
foreach(workload ${bench_workloads})
  foreach(library ${bench_libraries})
    if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${workload}/${library}.cpp)
      continue()
    endif()
    set(target bench_${workload}_${library})
    add_executable(${target} ${workload}/${library}.cpp)
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${library} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench/${workload})
    bench_install(${target} ${workload})
    target_compile_options(${target} PRIVATE -O3)
    target_link_libraries(${target} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
    target_link_options(${target} PRIVATE -Wl,-z,now) # a function's first call through a lazy PLT takes kilobytes of stack
    add_dependencies(bench_programs ${target})
    if(TARGET bench_peer_${library})
      target_link_libraries(${target} PRIVATE bench_peer_${library})
    endif()
    if(NOT library MATCHES "^(call|serial|pthread|comity)$")
      set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL TRUE)
    endif()
  endforeach()
endforeach()

# The switch itself is not part of the interface.
target_link_libraries(bench_switch_comity PRIVATE comity_internal)

# Small stacks have no room for the first call of a function that is bound lazily.
target_link_options(bench_parked_comity PRIVATE -Wl,-z,now)

# OpenMP: the compiler's own runtime, and clang's binary for libomp.
if(OpenMP_CXX_FOUND)
  foreach(workload forkjoin fib nqueens uts matmul)
    bench_program(${workload} openmp OPTIONAL -O3)
  endforeach()
endif()

# Go: a program is one file; Go's own build cache knows what has changed.
find_program(COMITY_BENCH_GO go DOC "Builds the benchmarks of goroutines")
mark_as_advanced(COMITY_BENCH_GO)
if(COMITY_BENCH_GO AND NOT CMAKE_CROSSCOMPILING)
  file(GLOB go_support CONFIGURE_DEPENDS support/golang/*)
  foreach(workload ${bench_workloads})
    if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${workload}/go.go)
      continue()
    endif()
    set(output ${CMAKE_BINARY_DIR}/bench/${workload}/go)
    add_custom_command(OUTPUT ${output}
                       COMMAND ${CMAKE_COMMAND} -E env GOFLAGS=-trimpath GOTOOLCHAIN=local
                               ${COMITY_BENCH_GO} build -o ${output} ${workload}/go.go
                       DEPENDS ${workload}/go.go go.mod ${go_support} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
                       COMMENT "Building ${workload}/go" VERBATIM)
    list(APPEND go_programs ${output})
    install(PROGRAMS ${output} DESTINATION ${COMITY_PRELOAD_DIR}/bench/${workload} OPTIONAL)
  endforeach()
  add_custom_target(bench_go DEPENDS ${go_programs})
  add_dependencies(bench_programs bench_go)
else()
  list(APPEND bench_missing go)
endif()

# rayon, from crates.io. Without a network the crates cannot be had: then it is left out as well, and the build goes on.
find_program(COMITY_BENCH_CARGO cargo DOC "Builds the benchmarks of rayon")
mark_as_advanced(COMITY_BENCH_CARGO)
if(COMITY_BENCH_CARGO AND NOT CMAKE_CROSSCOMPILING)
  file(GLOB rayon_sources CONFIGURE_DEPENDS */rayon.rs support/rayon/src/* support/rayon/Cargo.*)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/bench/rayon.stamp
                     COMMAND ${CMAKE_COMMAND} -D CARGO=${COMITY_BENCH_CARGO} -D PROJECT=${CMAKE_CURRENT_SOURCE_DIR}/support/rayon
                             -D OUTPUT=${CMAKE_BINARY_DIR}/bench -P ${CMAKE_CURRENT_SOURCE_DIR}/support/rayon/build.cmake
                     DEPENDS ${rayon_sources} support/rayon/build.cmake COMMENT "Building the programs of rayon" VERBATIM)
  foreach(workload forkjoin fib nqueens uts matmul)
    install(PROGRAMS ${CMAKE_BINARY_DIR}/bench/${workload}/rayon DESTINATION ${COMITY_PRELOAD_DIR}/bench/${workload} OPTIONAL)
  endforeach()
  add_custom_target(bench_rayon DEPENDS ${CMAKE_BINARY_DIR}/bench/rayon.stamp)
  add_dependencies(bench_programs bench_rayon)
else()
  list(APPEND bench_missing rayon)
endif()

if(NOT bench_clang)
  list(APPEND bench_missing openmp-clang)
endif()
if(NOT OpenMP_CXX_FOUND)
  list(APPEND bench_missing openmp)
endif()

# For the harness: what is not built although it does not stand here only needs building.
list(JOIN bench_missing "\n" lines)
file(WRITE ${CMAKE_BINARY_DIR}/bench/not_found.txt "${lines}\n")
install(FILES ${CMAKE_BINARY_DIR}/bench/not_found.txt DESTINATION ${COMITY_PRELOAD_DIR}/bench)
if(bench_missing)
  list(JOIN bench_missing ", " bench_missing)
  message(STATUS "benchmarks of threads: not found, so left out: ${bench_missing}")
endif()
