# The settings every target of Spillway shares.
add_library(spillway_settings INTERFACE)
target_include_directories(spillway_settings INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(spillway_settings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wnon-virtual-dtor -Wold-style-cast -Wimplicit-fallthrough)
# In a batch of tests names meet that are far apart, so that gcc sees shadows where there are none.
target_compile_options(spillway_settings INTERFACE $<$<NOT:$<BOOL:$<TARGET_PROPERTY:SPILLWAY_TESTS>>>:-Wshadow>)
# gcc 12 sees overlapping copies in std::string's operator+ where there are none (gcc bug 105651).
target_compile_options(spillway_settings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
if(SPILLWAY_PCH)  # from precompiled headers the same and its kin come through although they are the system's
  target_compile_options(spillway_settings INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>)
endif()
# Results must not depend on whether a processor can fuse a multiply and an add.
target_compile_options(spillway_settings INTERFACE -ffp-contract=off)
if(SPILLWAY_WERROR)
  target_compile_options(spillway_settings INTERFACE -Werror)
endif()
if(SPILLWAY_SANITIZE)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${SPILLWAY_SANITIZE};-fno-sanitize-recover=all;-fno-omit-frame-pointer>")
  if(SPILLWAY_SANITIZE MATCHES "undefined")
    # These four make up most of what the compiler takes. The address sanitizer sees what null pointers, wrong types and
    # objects too small lead to; this processor does not mind where data lie.
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=null,alignment,object-size,vptr>)
  endif()
  add_link_options(-fsanitize=${SPILLWAY_SANITIZE})
  # The instrumentation makes gcc see uninitialised values in the standard library where there are none.
  target_compile_options(spillway_settings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
endif()

# What most files include. Builds without it (./run, for one) show that every file includes what it needs.
set(spillway_precompiled
  <algorithm> <cmath> <cstdint> <functional> <map> <memory> <optional> <set> <span> <string> <string_view> <utility>
  <vector> <fmt/format.h>)

# spillway_library(name SOURCES ... LINK ... [TERSE]): the static library of one folder. TERSE: it reads, writes and asks,
# what it takes is not its own, so that the compiler spends less on it. All of one kind share what is precompiled for the
# first of them.
function(spillway_library name)
  cmake_parse_arguments(arg "TERSE" "" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC spillway_settings ${arg_LINK} PRIVATE ${arg_PRIVATE_LINK})
  set(first spillway_model)
  if(arg_TERSE)
    set(first spillway_hw)
    spillway_optimise(${name} -O1)
  endif()
  spillway_precompile(${name} ${first} ${spillway_precompiled})
  spillway_batches(${name})
endfunction()

# The level of optimisation of a target. The sanitizers have one for everything.
function(spillway_optimise target level)
  if(NOT SPILLWAY_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${level}>)
  endif()
endfunction()

function(spillway_precompile target first)
  if(SPILLWAY_PCH AND target STREQUAL first)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  elseif(SPILLWAY_PCH)
    target_precompile_headers(${target} REUSE_FROM ${first})
  endif()
endfunction()
