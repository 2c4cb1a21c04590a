# Finds oneDNN 2.x (Debian: libdnnl-dev) and defines DNNL::dnnl. Its own dnnl-config.cmake asks for OpenCL, which
# Debian does not install with it.
find_path(DNNL_INCLUDE_DIR dnnl.hpp)
find_library(DNNL_LIBRARY dnnl)
mark_as_advanced(DNNL_INCLUDE_DIR DNNL_LIBRARY)
set(dnnl_version_header ${DNNL_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h)
if(EXISTS ${dnnl_version_header})
  file(STRINGS ${dnnl_version_header} dnnl_version_lines REGEX "DNNL_VERSION_(MAJOR|MINOR|PATCH)")
  foreach(part MAJOR MINOR PATCH)
    string(REGEX REPLACE ".*DNNL_VERSION_${part} +([0-9]+).*" "\\1" dnnl_${part} "${dnnl_version_lines}")
  endforeach()
  set(DNNL_VERSION ${dnnl_MAJOR}.${dnnl_MINOR}.${dnnl_PATCH})
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(DNNL REQUIRED_VARS DNNL_LIBRARY DNNL_INCLUDE_DIR VERSION_VAR DNNL_VERSION
  HANDLE_VERSION_RANGE)
if(DNNL_FOUND AND NOT TARGET DNNL::dnnl)
  add_library(DNNL::dnnl UNKNOWN IMPORTED GLOBAL)  # static libraries pass it on to other folders
  set_target_properties(DNNL::dnnl PROPERTIES
    IMPORTED_LOCATION ${DNNL_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${DNNL_INCLUDE_DIR}
    INTERFACE_LINK_LIBRARIES gomp)  # its threads are counted by libgomp
endif()
