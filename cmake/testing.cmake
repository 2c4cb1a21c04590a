# What tests/CMakeLists.txt is written in.
include(Catch)

# catch_main: what every test links: Catch's main and tests/golden.h.
add_library(catch_main STATIC catch_main.cc golden.cc)
set_source_files_properties(catch_main.cc PROPERTIES COMPILE_OPTIONS "-O1;-g0;-fno-sanitize=all")  # saves 40 s
target_link_libraries(catch_main PUBLIC Catch2::Catch2 spillway_settings)
target_compile_definitions(catch_main PUBLIC
  SPILLWAY_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
  SPILLWAY_GOLDEN_ACTUAL_DIR="${PROJECT_BINARY_DIR}/golden-actual")

# spillway_test(name library...): tests/<name>.cc becomes one CTest per test case.
function(spillway_test name)
  add_executable(${name} ${name}.cc)
  target_link_libraries(${name} PRIVATE catch_main ${ARGN})
  target_compile_options(${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)  # a third less to compile
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

# spillway_header_check(folder...): every header of these folders compiles on its own.
function(spillway_header_check)
  if(SPILLWAY_SANITIZE)
    return()  # nothing runs that could be watched
  endif()
  list(TRANSFORM ARGN REPLACE ".+" "${PROJECT_SOURCE_DIR}/\\0/*.h" OUTPUT_VARIABLE patterns)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${patterns})
  foreach(header IN LISTS headers)
    set(unit ${CMAKE_CURRENT_BINARY_DIR}/headers/${header}.cc)
    file(CONFIGURE OUTPUT ${unit} CONTENT "#include \"${header}\"\n#include \"${header}\"  // and may be repeated\n")
    list(APPEND units ${unit})
  endforeach()
  add_library(header_selfcheck OBJECT ${units})
  target_link_libraries(header_selfcheck PRIVATE spillway_settings)
  target_compile_options(header_selfcheck PRIVATE -O0 -g0)
endfunction()
