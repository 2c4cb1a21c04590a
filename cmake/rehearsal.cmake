# spillway_rehearsal: a plugin that is no GPU but the tests' stand-in for one, in real time (tests/cuda/rehearsal/device.h). It has
# the CUDA plugin's name, so that it may take its place beside the program, and lies in a folder of its own, so that it
# never does unless somebody puts it there. Not built by `all`; tests that need it ask for it.
include(${PROJECT_SOURCE_DIR}/tests/cuda/cuda_stand_in.cmake)

# Compiled again: the program's libraries are not made to be part of a shared one. Of the model what costs take.
set(sources
  ${cuda_stand_in_sources}
  ${PROJECT_SOURCE_DIR}/calibrate/devices/cpu/kernels_absent.cc
  ${PROJECT_SOURCE_DIR}/tests/cuda/rehearsal/device.cc
  ${PROJECT_SOURCE_DIR}/tests/cuda/rehearsal/entry.cc
  ${PROJECT_SOURCE_DIR}/tests/cuda/rehearsal/settings.cc)
foreach(library hw model)
  get_target_property(own spillway_${library} SOURCES)
  list(FILTER own EXCLUDE REGEX "^(zoo|layers|network|samples)/|^step/(dump_step|step_.*)\\.cc$|^util/(graph|thread_pool)\\.cc$")
  list(TRANSFORM own PREPEND ${PROJECT_SOURCE_DIR}/${library}/)
  list(APPEND sources ${own})
endforeach()
add_library(spillway_rehearsal MODULE EXCLUDE_FROM_ALL ${sources})
target_link_libraries(spillway_rehearsal PRIVATE spillway_settings fmt::fmt yaml-cpp::yaml-cpp)
target_link_options(spillway_rehearsal PRIVATE -Wl,-z,defs -Wl,--exclude-libs,ALL)
# What these files have of networks and steps goes, with what it would ask for.
target_compile_options(spillway_rehearsal PRIVATE -ffunction-sections)
target_link_options(spillway_rehearsal PRIVATE -Wl,--gc-sections)
# Profiles are files beside the plugin, or named: it has no folder of them.
target_compile_definitions(spillway_rehearsal PRIVATE SPILLWAY_PORTABLE
  SPILLWAY_CUDA_INTERFACE=${SPILLWAY_CUDA_INTERFACE})
set_target_properties(spillway_rehearsal PROPERTIES
  OUTPUT_NAME spillway_cuda
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/rehearsal
  CXX_VISIBILITY_PRESET hidden)
spillway_optimise(spillway_rehearsal -O1)
spillway_batches(spillway_rehearsal)

# rehearsal: spillway-portable/ once more as spillway-rehearsal/, with that plugin, and without the test that asks a GPU for
# numbers.
if(SPILLWAY_PORTABLE)
  set_target_properties(spillway_rehearsal PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")
  target_link_options(spillway_rehearsal PRIVATE -Wl,--disable-new-dtags)
  set(folder ${PROJECT_BINARY_DIR}/spillway-rehearsal)
  add_custom_target(rehearsal
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${folder}
    COMMAND ${CMAKE_COMMAND} -E copy_directory ${PROJECT_BINARY_DIR}/spillway-portable ${folder}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${folder}/cuda_gpu_test
    COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:spillway_rehearsal> ${folder}
    COMMAND sh ${PROJECT_SOURCE_DIR}/cmake/bundle_check.sh ${folder}
    VERBATIM)
  add_dependencies(rehearsal bundle spillway_rehearsal)
endif()
