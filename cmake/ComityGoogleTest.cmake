# GTest::gtest and GTest::gtest_main: Debian's library where it fits, else built from Debian's sources of it.
# A cross build and ThreadSanitizer need their own: the packaged one is for the host and not instrumented.
set(COMITY_GTEST_SOURCE /usr/src/googletest CACHE PATH "Where libgtest-dev puts its sources")

if(COMITY_BUILD_TESTS)
  if(NOT CMAKE_CROSSCOMPILING AND NOT COMITY_SANITIZE)
    find_package(GTest QUIET)
  endif()
  if(NOT TARGET GTest::gtest)
    if(NOT EXISTS ${COMITY_GTEST_SOURCE}/CMakeLists.txt)
      message(FATAL_ERROR "GoogleTest is missing: install Debian's libgtest-dev (scripts/install-dependencies does), "
                          "or configure with -DCOMITY_BUILD_TESTS=OFF")
    endif()
    set(INSTALL_GTEST OFF)
    set(BUILD_GMOCK OFF)
    set(CMAKE_POLICY_DEFAULT_CMP0077 NEW) # googletest's option() shall respect the two lines above
    set(CMAKE_POLICY_DEFAULT_CMP0048 NEW)
    set(CMAKE_WARN_DEPRECATED OFF)
    add_subdirectory(${COMITY_GTEST_SOURCE} ${CMAKE_BINARY_DIR}/googletest EXCLUDE_FROM_ALL SYSTEM)
    set(CMAKE_WARN_DEPRECATED ON)
    set_target_properties(gtest gtest_main PROPERTIES CXX_VISIBILITY_PRESET default VISIBILITY_INLINES_HIDDEN OFF)
    foreach(library gtest gtest_main)
      if(NOT TARGET GTest::${library})
        add_library(GTest::${library} ALIAS ${library})
      endif()
    endforeach()
  endif()
  include(GoogleTest)
endif()
