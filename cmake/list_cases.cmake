# cmake -DPROGRAM=... -DFILES=a_test;b_test -DCASES=file.cmake -DFOLDER=... -DLABEL=... -P list_cases.cmake
# Asks a program of tests for the cases of each of its files and writes a CTest for each, named "a_test:what the case says".
# A case tagged [threads] keeps two processors busy and is given two; one tagged [deep] is a test only where SPILLWAY_DEEP
# is set when CTest runs (tests/deep.h). TAGS: what else a case has to have or not.

cmake_policy(VERSION 3.25)

# The cases with these tags as a list of CMake's, whose own signs are put aside.
function(cases_of tags result)
  execute_process(COMMAND ${PROGRAM} --filenames-as-tags --list-test-names-only "${tags}"
    WORKING_DIRECTORY ${FOLDER} OUTPUT_VARIABLE cases RESULT_VARIABLE count)
  if(NOT count MATCHES "^[0-9]+$")  # of cases
    message(FATAL_ERROR "${PROGRAM} cannot list its cases (${count})\n${cases}")
  endif()
  string(REPLACE ";" "<semicolon>" cases "${cases}")
  string(REPLACE "[" "<open>" cases "${cases}")
  string(REPLACE "]" "<close>" cases "${cases}")
  string(REGEX REPLACE "\n+" ";" cases "${cases}")
  list(REMOVE_ITEM cases "")
  set(${result} "${cases}" PARENT_SCOPE)
endfunction()

set(script "")
cases_of("[threads]" threaded)
cases_of("[deep]" deep)
foreach(file IN LISTS FILES)
  cases_of("[#${file}]~[.]${TAGS}" cases)  # without those that are hidden
  if(NOT cases)
    message(FATAL_ERROR "${PROGRAM} has no cases of ${file}.cc")
  endif()
  foreach(case IN LISTS cases)
    set(properties LABELS ${LABEL})
    if(case IN_LIST threaded)
      list(APPEND properties PROCESSORS 2 COST 100)  # begins early
    endif()
    list(JOIN properties " " properties)
    set(begin "")
    set(end "")
    if(case IN_LIST deep)
      set(begin "if(DEFINED ENV{SPILLWAY_DEEP})\n")
      set(end "endif()\n")
    endif()
    string(REPLACE "<semicolon>" ";" case "${case}")
    string(REPLACE "<open>" "[" case "${case}")
    string(REPLACE "<close>" "]" case "${case}")
    string(REGEX REPLACE "([],[\\])" "\\\\\\1" pattern "${case}")  # what Catch's patterns take for their own
    string(APPEND script "${begin}add_test([==[${file}:${case}]==] [==[${PROGRAM}]==] [==[${pattern}]==])\n"
      "set_tests_properties([==[${file}:${case}]==] PROPERTIES WORKING_DIRECTORY [==[${FOLDER}]==] ${properties})\n${end}")
  endforeach()
endforeach()
file(WRITE ${CASES} "${script}")
