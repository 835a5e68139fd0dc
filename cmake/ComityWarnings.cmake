# The warnings for all of Comity's own code; the presets turn them into errors.
option(COMITY_WERROR "Treat warnings as errors" OFF)

add_compile_options(-Wall -Wextra -Wpointer-arith -Wcast-align -Wundef -Wno-missing-field-initializers
                    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>)
if(COMITY_WERROR)
  add_compile_options(-Werror)
endif()
