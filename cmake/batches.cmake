# Batches: several source files compiled as one. A small file costs the compiler what it includes, not what it says, so that
# a batch of eight takes little longer than one or two of them. SPILLWAY_BATCH = 1 compiles each by itself, as clang-tidy
# and editors want it.
set(SPILLWAY_BATCH 8 CACHE STRING "source files compiled as one, about; 1: each by itself")
find_program(SPILLWAY_AWK awk)
mark_as_advanced(SPILLWAY_AWK)

# spillway_batches(target): compiles the target's files in batches. Which files go together depends on the names in them
# (batches.awk), so that a file which has changed is looked at again.
function(spillway_batches target)
  if(SPILLWAY_BATCH LESS_EQUAL 1 OR NOT SPILLWAY_AWK)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cc$")
  list(TRANSFORM sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  list(TRANSFORM sources REPLACE "^.*//" "/")  # what was absolute already
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/[cdhmrst]*/*.h)
  execute_process(
    COMMAND ${SPILLWAY_AWK} -v size=${SPILLWAY_BATCH} -f ${PROJECT_SOURCE_DIR}/cmake/batches.awk ${sources} -- ${headers}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE lines RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "cmake/batches.awk failed: ${status}")
  endif()
  string(REPLACE "\n" ";" lines "${lines}")
  foreach(line IN LISTS lines)
    if(line MATCHES "^([0-9]+) (.*)")
      set_source_files_properties(${CMAKE_MATCH_2} PROPERTIES UNITY_GROUP ${CMAKE_MATCH_1})
    endif()
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources} ${headers})
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # gcc takes a type without linkage in a file that is included for one of a header.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()
