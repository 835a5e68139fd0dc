# Builds the programs of rayon and puts them beside the others: cmake -D CARGO= -D PROJECT= -D OUTPUT= -P build.cmake
execute_process(COMMAND ${CARGO} build --quiet --release --locked --manifest-path ${PROJECT}/Cargo.toml --target-dir ${OUTPUT}/cargo
                RESULT_VARIABLE failed ERROR_VARIABLE complaint)
if(failed)
  message(WARNING "rayon: cargo cannot build its benchmarks, so they are left out:\n${complaint}")
else()
  file(GLOB sources ${PROJECT}/../../*/rayon.rs)
  foreach(source ${sources})
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET folder FILENAME workload)
    file(COPY_FILE ${OUTPUT}/cargo/release/${workload} ${OUTPUT}/${workload}/rayon)
  endforeach()
endif()
file(TOUCH ${OUTPUT}/rayon.stamp)
