# SPILLWAY_PORTABLE: the program with the shared libraries that it needs in one folder, spillway-portable/, for machines
# without these packages, and calibrate/'s gpu-run.sh and torch_steps.py. libc, CUDA and cuDNN are the other machine's:
# its libc must not be older than this one's. The preset leaves out the CPU device: -DSPILLWAY_CPU_DEVICE=ON bundles
# oneDNN too.
# libstdc++ is bundled, not linked statically: program and plugin throw through each other and must share one.
option(SPILLWAY_PORTABLE "a folder with everything the program needs (preset portable)" OFF)
if(NOT SPILLWAY_PORTABLE)
  return()
endif()

# RPATH, not RUNPATH: it serves the bundled libraries' own needs too. Profiles are looked for beside the program.
set_target_properties(spillway PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")
target_link_options(spillway PRIVATE -Wl,--disable-new-dtags)
target_compile_definitions(spillway_hw PRIVATE SPILLWAY_PORTABLE)
set(plugin)
if(SPILLWAY_HAS_CUDA)
  # No folder of CUDA's: RPATH comes before LD_LIBRARY_PATH, which says where the other machine has it.
  set_target_properties(spillway_cuda PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")
  target_link_options(spillway_cuda PRIVATE -Wl,--disable-new-dtags)
  set(plugin $<TARGET_FILE:spillway_cuda>)
endif()

add_custom_target(bundle ALL
  COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:spillway> -DPLUGIN=${plugin} -DSOURCE=${PROJECT_SOURCE_DIR}
    -DFOLDER=${PROJECT_BINARY_DIR}/spillway-portable -P ${PROJECT_SOURCE_DIR}/cmake/bundle.cmake
  COMMAND sh ${PROJECT_SOURCE_DIR}/cmake/bundle_check.sh ${PROJECT_BINARY_DIR}/spillway-portable
  DEPENDS spillway VERBATIM)
