# Tests of the CUDA plugin and of how it is found.

# Libraries that are no plugins of this program: one needs a library that is nowhere, one is something else, one is old.
add_library(cuda_nowhere SHARED cuda/plugins/nowhere.cc)
set_target_properties(cuda_nowhere PROPERTIES OUTPUT_NAME spillway_nowhere
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/nowhere)
add_library(cuda_broken_plugin MODULE cuda/plugins/broken.cc)
target_link_libraries(cuda_broken_plugin PRIVATE cuda_nowhere)
set_target_properties(cuda_broken_plugin PROPERTIES SKIP_BUILD_RPATH ON)
add_library(cuda_foreign_library MODULE cuda/plugins/foreign.cc)
add_library(cuda_old_plugin MODULE cuda/plugins/old.cc)
foreach(library cuda_nowhere cuda_broken_plugin cuda_foreign_library cuda_old_plugin)
  target_link_libraries(${library} PRIVATE spillway_settings)
endforeach()

set(load_definitions
  SPILLWAY_TEST_BROKEN_PLUGIN="$<TARGET_FILE:cuda_broken_plugin>"
  SPILLWAY_TEST_FOREIGN_LIBRARY="$<TARGET_FILE:cuda_foreign_library>"
  SPILLWAY_TEST_OLD_PLUGIN="$<TARGET_FILE:cuda_old_plugin>")
add_dependencies(cuda_tests cuda_broken_plugin cuda_foreign_library cuda_old_plugin)
if(SPILLWAY_HAS_CUDA)
  add_dependencies(cuda_tests spillway_cuda)
  list(APPEND load_definitions SPILLWAY_EXPECT_CUDA_PLUGIN)
endif()
list(APPEND load_definitions SPILLWAY_CUDA_INTERFACE=${SPILLWAY_CUDA_INTERFACE})
set_source_files_properties(cuda/cuda_load_test.cc PROPERTIES COMPILE_DEFINITIONS "${load_definitions}")
# The rehearsal's plugin, which is loaded as the real one is.
add_dependencies(cuda_tests spillway_rehearsal)
set_source_files_properties(cuda/rehearsal_test.cc PROPERTIES
  COMPILE_DEFINITIONS SPILLWAY_TEST_REHEARSAL="$<TARGET_FILE:spillway_rehearsal>")

add_test(NAME cuda_interface_test COMMAND ${CMAKE_COMMAND} -DFOLDER=${CMAKE_CURRENT_BINARY_DIR}/interface
  -DSOURCE=${PROJECT_SOURCE_DIR} -P ${CMAKE_CURRENT_SOURCE_DIR}/cuda/cuda_interface_test.cmake)

if(SPILLWAY_HAS_CUDA AND SPILLWAY_HAS_CPU_DEVICE)
  # The plugin's own objects against a fake of the C libraries.
  add_library(cuda_fake_c OBJECT
    cuda/fake_c/convolution.cc
    cuda/fake_c/cublas.cc
    cuda/fake_c/descriptors.cc
    cuda/fake_c/layers.cc
    cuda/fake_c/normalisation.cc
    cuda/fake_c/own_kernels.cc
    cuda/fake_c/pooling.cc
    cuda/fake_c/runtime.cc)
  target_link_libraries(cuda_fake_c PRIVATE spillway_settings)
  target_include_directories(cuda_fake_c SYSTEM PRIVATE ${SPILLWAY_CUDA_INCLUDE_DIRS})
  spillway_tests(cuda_plugin_tests LABEL cuda LINK spillway_calibrate
    FILES
      cuda_plugin_numbers_test
      cuda_plugin_peers_test
      cuda_plugin_test
    PLAIN
      cuda_plugin_resnext_test)
  set_source_files_properties(cuda/cuda_plugin_test.cc PROPERTIES COMPILE_DEFINITIONS
    "SPILLWAY_CUDA_INTERFACE=${SPILLWAY_CUDA_INTERFACE}")
  target_sources(cuda_plugin_tests PRIVATE $<TARGET_OBJECTS:spillway_cuda_objects> $<TARGET_OBJECTS:cuda_fake_c>)
  target_include_directories(cuda_plugin_tests SYSTEM PRIVATE ${SPILLWAY_CUDA_INCLUDE_DIRS})

  # The real ones on a real GPU; one test, which is skipped where there is none.
  add_executable(cuda_gpu_test cuda/cuda_gpu_test.cc)
  target_link_libraries(cuda_gpu_test PRIVATE catch_main spillway_calibrate)
  spillway_optimise(cuda_gpu_test -Og)
  spillway_precompile(cuda_gpu_test catch_main)
  add_dependencies(cuda_gpu_test spillway_cuda)
  add_test(NAME cuda_gpu_test COMMAND cuda_gpu_test WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(cuda_gpu_test PROPERTIES LABELS gpu SKIP_REGULAR_EXPRESSION "gpu test skipped")
endif()
