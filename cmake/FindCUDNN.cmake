# Finds cuDNN beside the CUDA toolkit or in the system, or under CUDNN_ROOT, and defines CUDNN::cudnn. NVIDIA ships no
# config file for it. After find_package(CUDAToolkit).
find_path(CUDNN_INCLUDE_DIR cudnn_version.h HINTS ${CUDNN_ROOT} $ENV{CUDNN_ROOT} ${CUDAToolkit_INCLUDE_DIRS}
  PATH_SUFFIXES include)
find_library(CUDNN_LIBRARY cudnn HINTS ${CUDNN_ROOT} $ENV{CUDNN_ROOT} ${CUDAToolkit_LIBRARY_DIR}
  PATH_SUFFIXES lib64 lib lib/x64)
mark_as_advanced(CUDNN_INCLUDE_DIR CUDNN_LIBRARY)
# cuDNN 9 has the numbers in a header of its own, which cudnn_version.h includes.
foreach(header cudnn_version.h cudnn_version_v9.h)
  if(EXISTS ${CUDNN_INCLUDE_DIR}/${header} AND NOT CUDNN_VERSION)
    file(STRINGS ${CUDNN_INCLUDE_DIR}/${header} cudnn_lines REGEX "define CUDNN_(MAJOR|MINOR|PATCHLEVEL) +[0-9]+")
    foreach(part MAJOR MINOR PATCHLEVEL)
      string(REGEX REPLACE ".*CUDNN_${part} +([0-9]+).*" "\\1" cudnn_${part} "${cudnn_lines}")
    endforeach()
    if(cudnn_lines)
      set(CUDNN_VERSION ${cudnn_MAJOR}.${cudnn_MINOR}.${cudnn_PATCHLEVEL})
    endif()
  endif()
endforeach()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CUDNN REQUIRED_VARS CUDNN_LIBRARY CUDNN_INCLUDE_DIR VERSION_VAR CUDNN_VERSION)
if(CUDNN_FOUND AND NOT TARGET CUDNN::cudnn)
  add_library(CUDNN::cudnn UNKNOWN IMPORTED)
  set_target_properties(CUDNN::cudnn PROPERTIES
    IMPORTED_LOCATION ${CUDNN_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${CUDNN_INCLUDE_DIR})
endif()
