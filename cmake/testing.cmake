# What tests/CMakeLists.txt is written in.
option(SPILLWAY_SANITIZE_ALL "with SPILLWAY_SANITIZE: every test, not only those that are worth it" OFF)

# catch_main: what every test links: Catch's main and tests/golden.h.
add_library(catch_main STATIC golden.cc)
target_link_libraries(catch_main PUBLIC Catch2::Catch2 spillway_settings Threads::Threads fmt::fmt)
if(TARGET Catch2::Catch2WithMain)
  target_link_libraries(catch_main PUBLIC Catch2::Catch2WithMain)
else()
  target_sources(catch_main PRIVATE catch_main.cc)
  set_source_files_properties(catch_main.cc PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endif()
# What an assertion throws is told with the case, not with the assertion; a third less to compile.
target_compile_definitions(catch_main PUBLIC CATCH_CONFIG_FAST_COMPILE)
spillway_optimise(catch_main -Og)
spillway_precompile(catch_main catch_main ${spillway_precompiled} <catch2/catch.hpp>)
set(sanitized)
if(SPILLWAY_SANITIZE)
  set(sanitized SPILLWAY_SANITIZED)
endif()
target_compile_definitions(catch_main PUBLIC
  SPILLWAY_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
  SPILLWAY_GOLDEN_ACTUAL_DIR="${PROJECT_BINARY_DIR}/golden-actual"
  ${sanitized})

# spillway_tests(program LABEL label LINK library... FILES test... [PLAIN test...]): tests/<label>/<test>.cc as one program, each of
# its cases as a CTest "<test>:<case>". With sanitizers the files behind PLAIN and the cases tagged [plain] are left out:
# arithmetic, searches, large enumerations and whole runs of the command line, whose parts the others cover.
function(spillway_tests program)
  cmake_parse_arguments(arg "" "LABEL" "LINK;FILES;PLAIN" ${ARGN})
  set(files ${arg_FILES})
  set(tags "~[plain]")
  if(NOT SPILLWAY_SANITIZE OR SPILLWAY_SANITIZE_ALL)
    list(APPEND files ${arg_PLAIN})
    set(tags "")
  endif()
  if(NOT files)
    return()
  endif()
  list(TRANSFORM files REPLACE "(.+)" "${arg_LABEL}/\\1.cc" OUTPUT_VARIABLE sources)
  add_executable(${program} ${sources})
  set_target_properties(${program} PROPERTIES SPILLWAY_TESTS ON)
  target_link_libraries(${program} PRIVATE catch_main ${arg_LINK})
  spillway_optimise(${program} -Og)  # tests have no need to be fast, what they test has
  spillway_precompile(${program} catch_main)
  spillway_batches(${program})
  set(cases ${CMAKE_CURRENT_BINARY_DIR}/${program}.cases.cmake)
  add_custom_command(TARGET ${program} POST_BUILD VERBATIM BYPRODUCTS ${cases}
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${program}> "-DFILES=${files}" -DCASES=${cases}
      -DFOLDER=${PROJECT_SOURCE_DIR} -DLABEL=${arg_LABEL} "-DTAGS=${tags}" -P ${PROJECT_SOURCE_DIR}/cmake/list_cases.cmake)
  set(ctest ${CMAKE_CURRENT_BINARY_DIR}/${program}.ctest.cmake)
  file(CONFIGURE OUTPUT ${ctest} @ONLY CONTENT
    "if(EXISTS @cases@)\n  include(@cases@)\nelse()\n  add_test(@program@_is_not_built @program@)\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${ctest})
endfunction()

# spillway_benchmark(name SMOKE regex LINK library...): tests/sim/<name>.cc becomes a Google Benchmark program; the
# benchmarks matching SMOKE also run for a moment as a test, to see that they still work.
add_custom_target(benchmarks)
function(spillway_benchmark name)
  if(NOT SPILLWAY_BENCHMARKS)
    return()
  endif()
  cmake_parse_arguments(arg "" "SMOKE;FOLDER" "LINK" ${ARGN})
  add_executable(${name} ${arg_FOLDER}/${name}.cc)
  target_link_libraries(${name} PRIVATE spillway_settings benchmark::benchmark_main ${arg_LINK})
  target_compile_definitions(${name} PRIVATE SPILLWAY_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_dependencies(benchmarks ${name})
  add_test(NAME ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    COMMAND ${name} --benchmark_min_time=0.01 --benchmark_filter=${arg_SMOKE})
  set_tests_properties(${name} PROPERTIES FAIL_REGULAR_EXPRESSION "Failed to match")
endfunction()

# What all fuzzers share.
add_library(fuzz_parts OBJECT fuzz/seeds.cc)
target_link_libraries(fuzz_parts PUBLIC spillway_settings)
target_compile_definitions(fuzz_parts PUBLIC SPILLWAY_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
if(NOT SPILLWAY_LIBFUZZER)
  target_sources(fuzz_parts PRIVATE fuzz/driver.cc fuzz/mutate.cc)
endif()

# spillway_fuzzer(name runs library...): tests/fuzz/<name>.cc becomes a fuzzer; as a test it makes `runs` runs.
function(spillway_fuzzer name runs)
  add_executable(${name} fuzz/${name}.cc)
  target_link_libraries(${name} PRIVATE fuzz_parts ${ARGN})
  set(arguments ${runs})
  if(SPILLWAY_LIBFUZZER)
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set(arguments -runs=${runs} -seed=1)
  endif()
  add_test(NAME ${name} COMMAND ${name} ${arguments})
endfunction()

# spillway_header_check(folder...): header_selfcheck, which compiles every header of these folders on its own. Where x.cc is
# beside x.h it includes it first, which layering_test sees to; the others get a unit here. Not built by `all`: .ci/tidy.
function(spillway_header_check)
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
  add_library(header_selfcheck OBJECT EXCLUDE_FROM_ALL ${units})
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
  # The libraries' batches hold these sources too: what comes first counts.
  target_link_options(${name} PRIVATE -fsanitize=thread -Wl,-z,muldefs)
  # No batches: a file has one number of a batch, whatever the targets, and these files have theirs from their own.
  set_target_properties(${name} PROPERTIES SPILLWAY_TESTS ON)
endfunction()
