# Folders that hold the program, the shared libraries that it needs, and what is shipped with it, for machines without
# these packages. libc, CUDA and cuDNN are the other machine's: its libc must not be older than this one's.
#   spillway-package/   target package_folder, in every build: what the Python package holds (package.cmake)
#   spillway-portable/  SPILLWAY_PORTABLE: with the CUDA plugin, and calibrate/'s gpu-run.sh and torch_steps.py. The preset
#                       leaves out the CPU device and the tests; preset portable-test has oneDNN too, and cuda_gpu_test,
#                       which holds what a GPU computes against it.
# libstdc++ is bundled, not linked statically: program and plugin throw through each other and must share one.
option(SPILLWAY_PORTABLE "a folder with everything the program needs (preset portable)" OFF)

# RPATH, not RUNPATH: it serves the bundled libraries' own needs too. No folder of CUDA's: RPATH comes before
# LD_LIBRARY_PATH, which says where the other machine has it.
function(spillway_finds_beside target)
  set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")
  target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
endfunction()

spillway_finds_beside(spillway)
add_custom_target(package_folder
  COMMAND ${CMAKE_COMMAND} -DPROGRAMS=$<TARGET_FILE:spillway> -DPLUGIN= -DSOURCE=${PROJECT_SOURCE_DIR}
    -DFOLDER=${PROJECT_BINARY_DIR}/spillway-package -P ${PROJECT_SOURCE_DIR}/cmake/bundle.cmake
  COMMAND sh ${PROJECT_SOURCE_DIR}/cmake/bundle_check.sh ${PROJECT_BINARY_DIR}/spillway-package
  DEPENDS spillway VERBATIM)
set(SPILLWAY_PACKAGE_FOLDER ${PROJECT_BINARY_DIR}/spillway-package)
include(${PROJECT_SOURCE_DIR}/cmake/package.cmake)
if(NOT SPILLWAY_PORTABLE)
  return()
endif()

set_property(SOURCE ${PROJECT_SOURCE_DIR}/hw/machine/shipped.cc DIRECTORY ${PROJECT_SOURCE_DIR}/hw
  APPEND PROPERTY COMPILE_DEFINITIONS SPILLWAY_PORTABLE)  # profiles are looked for beside the program alone
set(programs)
set(plugin)
foreach(target spillway cuda_gpu_test spillway_cuda)
  if(NOT TARGET ${target})
    continue()
  endif()
  spillway_finds_beside(${target})
  if(target STREQUAL spillway_cuda)
    set(plugin $<TARGET_FILE:spillway_cuda>)
  else()
    list(APPEND programs $<TARGET_FILE:${target}>)
  endif()
endforeach()

add_custom_target(bundle ALL
  COMMAND ${CMAKE_COMMAND} "-DPROGRAMS=${programs}" -DPLUGIN=${plugin} -DSOURCE=${PROJECT_SOURCE_DIR}
    -DFOLDER=${PROJECT_BINARY_DIR}/spillway-portable -P ${PROJECT_SOURCE_DIR}/cmake/bundle.cmake
  COMMAND sh ${PROJECT_SOURCE_DIR}/cmake/bundle_check.sh ${PROJECT_BINARY_DIR}/spillway-portable
  DEPENDS ${programs} ${plugin} VERBATIM)

# The folder as one file, for machines that take few: spillway-portable.tar.gz.
add_custom_target(archive
  COMMAND sh ${PROJECT_SOURCE_DIR}/cmake/archive.sh ${PROJECT_BINARY_DIR} spillway-portable
  DEPENDS bundle VERBATIM)
