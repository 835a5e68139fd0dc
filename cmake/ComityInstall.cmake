# What `cmake --install` puts where, for the targets that this configuration has; included after all of them.
#   <libdir>/libcomity.so.0, <libdir>/comity/*.so (the drop-ins), <bindir>/comity, headers, find_package, pkg-config,
#   man pages and shell completions
include(CMakePackageConfigHelpers)

install(TARGETS comity EXPORT comityTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
                                                    NAMELINK_COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/comity DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT development FILES_MATCHING PATTERN *.h PATTERN *.hpp)

if(TARGET comity_abt)
  set_target_properties(comity_abt PROPERTIES INSTALL_RPATH $ORIGIN)
  install(TARGETS comity_abt EXPORT comityTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
                                                          NAMELINK_COMPONENT development)
endif()

# The drop-ins find libcomity one folder up, and the OpenMP core beside them, wherever the prefix is moved to.
foreach(dropin comity_openmp comity_gomp comity_omp comity_iomp comity_blas comity_pthread comity_threads)
  if(TARGET ${dropin})
    set_target_properties(${dropin} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/comity
                                               INSTALL_RPATH "$ORIGIN;$ORIGIN/..")
    install(TARGETS ${dropin} LIBRARY DESTINATION ${COMITY_PRELOAD_DIR} NAMELINK_SKIP)
  endif()
endforeach()
if(TARGET comity_omp) # for -fopenmp=libomp -L...
  install(TARGETS comity_omp LIBRARY DESTINATION ${COMITY_PRELOAD_DIR} NAMELINK_ONLY COMPONENT development)
  install(FILES ${CMAKE_BINARY_DIR}/lib/comity/libiomp5.so DESTINATION ${COMITY_PRELOAD_DIR})
endif()

if(TARGET comity_cli)
  install(TARGETS comity_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
file(GLOB man_pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/man/*.[1-9])
foreach(page ${man_pages})
  string(REGEX MATCH "[1-9]$" section ${page})
  install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/tools/gdb/comity-gdb.py DESTINATION ${CMAKE_INSTALL_DATADIR}/comity)
set(completions ${PROJECT_SOURCE_DIR}/tools/comity/completions)
foreach(pair comity.bash>bash-completion/completions/comity _comity>zsh/site-functions/_comity
             comity.fish>fish/vendor_completions.d/comity.fish)
  string(REPLACE ">" ";" pair ${pair})
  list(POP_FRONT pair file)
  if(EXISTS ${completions}/${file})
    cmake_path(GET pair PARENT_PATH folder)
    cmake_path(GET pair FILENAME name)
    install(FILES ${completions}/${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder} RENAME ${name})
  endif()
endforeach()

# As installed: the folders are the same in the build, and what CMake makes room with there, empty elements, would have the
# dynamic linker look into the working directory.
set_target_properties(comity PROPERTIES INSTALL_RPATH "")
foreach(product comity comity_abt comity_openmp comity_gomp comity_omp comity_iomp comity_blas comity_pthread comity_threads comity_cli)
  if(TARGET ${product})
    add_dependencies(products ${product})
    set_target_properties(${product} PROPERTIES BUILD_WITH_INSTALL_RPATH ON)
  endif()
endforeach()

# find_package(comity)
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/comity)
install(EXPORT comityTargets NAMESPACE comity:: DESTINATION ${config_folder} COMPONENT development)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/comityConfig.cmake.in ${PROJECT_BINARY_DIR}/comityConfig.cmake
                              INSTALL_DESTINATION ${config_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/comityConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/comityConfig.cmake ${PROJECT_BINARY_DIR}/comityConfigVersion.cmake
        DESTINATION ${config_folder} COMPONENT development)

# pkg-config comity, relocatable: the prefix is found from where the file lies
file(RELATIVE_PATH pc_to_prefix /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
configure_file(${PROJECT_SOURCE_DIR}/cmake/comity.pc.in ${PROJECT_BINARY_DIR}/comity.pc @ONLY)
configure_file(${PROJECT_SOURCE_DIR}/cmake/comity-abt.pc.in ${PROJECT_BINARY_DIR}/comity-abt.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/comity.pc ${PROJECT_BINARY_DIR}/comity-abt.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
