# What tests/CMakeLists.txt is written in.
include(Catch)

# catch_main: what every test links: Catch's main and tests/golden.h.
add_library(catch_main STATIC catch_main.cc golden.cc)
set_source_files_properties(catch_main.cc PROPERTIES COMPILE_OPTIONS "-O1;-g0;-fno-sanitize=all")  # saves 40 s
target_link_libraries(catch_main PUBLIC Catch2::Catch2 spillway_settings Threads::Threads fmt::fmt)
if(SPILLWAY_PCH)
  if(NOT SPILLWAY_SANITIZE)  # the options of every test, which all take it from here
    target_compile_options(catch_main PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
  endif()
  target_precompile_headers(catch_main PRIVATE ${spillway_precompiled} <catch2/catch.hpp>)
  set_source_files_properties(catch_main.cc PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endif()
target_compile_definitions(catch_main PUBLIC
  SPILLWAY_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
  SPILLWAY_GOLDEN_ACTUAL_DIR="${PROJECT_BINARY_DIR}/golden-actual")

# spillway_test(name library...): tests/<name>.cc becomes one CTest per test case.
function(spillway_test name)
  add_executable(${name} ${name}.cc)
  target_link_libraries(${name} PRIVATE catch_main ${ARGN})
  if(NOT SPILLWAY_SANITIZE)
    target_compile_options(${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)  # a third less to compile
  endif()
  if(SPILLWAY_PCH)
    target_precompile_headers(${name} REUSE_FROM catch_main)
  endif()
  catch_discover_tests(${name} TEST_PREFIX "${name}: " WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endfunction()

# spillway_benchmark(name SMOKE regex LINK library...): tests/<name>.cc becomes a Google Benchmark program; the
# benchmarks matching SMOKE also run for a moment as a test, to see that they still work.
add_custom_target(benchmarks)
function(spillway_benchmark name)
  if(NOT SPILLWAY_BENCHMARKS)
    return()
  endif()
  cmake_parse_arguments(arg "" "SMOKE" "LINK" ${ARGN})
  add_executable(${name} ${name}.cc)
  target_link_libraries(${name} PRIVATE spillway_settings benchmark::benchmark_main ${arg_LINK})
  target_compile_definitions(${name} PRIVATE SPILLWAY_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_dependencies(benchmarks ${name})
  add_test(NAME ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    COMMAND ${name} --benchmark_min_time=0.01 --benchmark_filter=${arg_SMOKE})
  set_tests_properties(${name} PROPERTIES FAIL_REGULAR_EXPRESSION "Failed to match")
endfunction()

# spillway_fuzzer(name runs library...): tests/fuzz/<name>.cc becomes a fuzzer; as a test it makes `runs` runs.
function(spillway_fuzzer name runs)
  add_executable(${name} fuzz/${name}.cc fuzz/seeds.cc)
  target_link_libraries(${name} PRIVATE spillway_settings ${ARGN})
  target_compile_definitions(${name} PRIVATE SPILLWAY_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  if(SPILLWAY_LIBFUZZER)
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set(arguments -runs=${runs} -seed=1)
  else()
    target_sources(${name} PRIVATE fuzz/driver.cc fuzz/mutate.cc)
    set(arguments ${runs})
  endif()
  add_test(NAME ${name} COMMAND ${name} ${arguments})
endfunction()

# spillway_header_check(folder...): every header of these folders compiles on its own. Where x.cc is beside x.h it includes
# it first, which layering_test sees to; the others get a unit here.
function(spillway_header_check)
  if(SPILLWAY_SANITIZE)
    return()  # nothing runs that could be watched
  endif()
  list(TRANSFORM ARGN REPLACE ".+" "${PROJECT_SOURCE_DIR}/\\0/*.h" OUTPUT_VARIABLE patterns)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${patterns})
  foreach(header IN LISTS headers)
    string(REGEX REPLACE "\\.h$" ".cc" source ${header})
    if(NOT EXISTS ${PROJECT_SOURCE_DIR}/${source} AND NOT header MATCHES "/plugin/")
      set(unit ${CMAKE_CURRENT_BINARY_DIR}/headers/${header}.cc)
      file(CONFIGURE OUTPUT ${unit} CONTENT "#include \"${header}\"\n#include \"${header}\"  // and may be repeated\n")
      list(APPEND units ${unit})
    endif()
  endforeach()
  add_library(header_selfcheck OBJECT ${units})
  target_link_libraries(header_selfcheck PRIVATE spillway_settings)
  target_compile_options(header_selfcheck PRIVATE -O0 -g0)
endfunction()

# spillway_thread_check(name TESTS test... SOURCES source...): these tests once more, with the thread sanitizer in them and
# in these sources, which is where threads meet; all else is as it is. Not built by `all`, for not every system lets the
# sanitizer run: .ci/run builds it and runs what is not tagged [long].
function(spillway_thread_check name)
  cmake_parse_arguments(arg "" "" "TESTS;SOURCES;LINK" ${ARGN})
  list(TRANSFORM arg_TESTS APPEND .cc)
  list(TRANSFORM arg_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/)
  add_executable(${name} EXCLUDE_FROM_ALL ${arg_TESTS} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE catch_main ${arg_LINK})
  target_compile_options(${name} PRIVATE -O1 -g1 -fsanitize=thread)
  target_link_options(${name} PRIVATE -fsanitize=thread)
endfunction()
