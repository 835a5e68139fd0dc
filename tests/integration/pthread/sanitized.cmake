# The tests of threads under a sanitizer, on Comity only. Linked with the program, its functions would come before the drop-in's; from a library of its own they come
# after them and before the C library's, so that the drop-in is tested as it is, but for its malloc. Not here: children of forks, which the sanitizers do not serve.
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libclang_rt.asan-${CMAKE_SYSTEM_PROCESSOR}.so
                OUTPUT_VARIABLE runtime OUTPUT_STRIP_TRAILING_WHITESPACE)
get_filename_component(runtime ${runtime} DIRECTORY)
add_library(sanitizer_first OBJECT sanitizer_first.cpp)

function(sanitized_test name)
  comity_test(${name} LABEL stress SOURCES ${name}.cpp ${ARGN} LIBRARIES ${CMAKE_DL_LIBS} sanitizer_first TIMEOUT 60
              ENVIRONMENT LD_PRELOAD=$<TARGET_FILE:comity_threads> COMITY_EXPECTED_LIBRARY=libcomity_threads COMITY_HARTS=2)
  target_link_options(${name} PRIVATE -shared-libsan -Wl,-rpath,${runtime})
  add_dependencies(${name} comity_threads)
endfunction()

set(tests attributes_test blocking_test c11_test calls_test credentials_test ids_test input_test races_test stdio_test words_test)
if(COMITY_SANITIZE STREQUAL "address") # the other one waits for itself in a handler that interrupts it
  list(APPEND tests faults_test signal_corners_test signal_descriptors_test signals_test)
endif()
foreach(name ${tests})
  sanitized_test(${name})
endforeach()
sanitized_test(threads_test threads_in_c.c)
use_late_library(threads_test)
set_source_files_properties(without_tables.c PROPERTIES COMPILE_OPTIONS
                                             "-fno-exceptions;-fno-unwind-tables;-fno-asynchronous-unwind-tables")
sanitized_test(corners_test without_tables.c)
