# The CUDA device: SPILLWAY_HAS_CUDA says whether its plugin is built. Without it everything else works.
set(SPILLWAY_CUDA AUTO CACHE STRING
  "the CUDA device: AUTO (if CUDA >= 11 with nvcc and cuBLAS, and cuDNN >= 8 are there), ON or OFF")
set_property(CACHE SPILLWAY_CUDA PROPERTY STRINGS AUTO ON OFF)
list(APPEND CMAKE_MODULE_PATH ${PROJECT_SOURCE_DIR}/cmake)

# spillway_find_toolkit: CUDAToolkit, the one of cmake/cuda_toolkit.sh where none is named or on the PATH.
macro(spillway_find_toolkit)
  if(NOT nvcc AND NOT CUDAToolkit_ROOT AND NOT DEFINED ENV{CUDAToolkit_ROOT})
    execute_process(COMMAND ${PROJECT_SOURCE_DIR}/cmake/cuda_toolkit.sh --where
      OUTPUT_VARIABLE CUDAToolkit_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  # CMake 3.25 stops at CUDA 13, which has no CUDA::nvToolsExt to mark as deprecated; for projects of 3.24 it does not.
  set(spillway_required ${CMAKE_MINIMUM_REQUIRED_VERSION})
  set(CMAKE_MINIMUM_REQUIRED_VERSION 3.24)
  find_package(CUDAToolkit 11 QUIET)
  set(CMAKE_MINIMUM_REQUIRED_VERSION ${spillway_required})
endmacro()

# spillway_find_nvcc(why): makes CMAKE_CUDA_COMPILER known. `why`: what is the matter; "" where nvcc is there and works.
macro(spillway_find_nvcc why)
  if(NOT CMAKE_CUDA_COMPILER)
    unset(CMAKE_CUDA_COMPILER CACHE)  # may have been installed since
    unset(CMAKE_CUDA_COMPILER)
    if(EXISTS "${CUDAToolkit_NVCC_EXECUTABLE}" AND NOT DEFINED ENV{CUDACXX})
      set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})
    endif()
  endif()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)  # every generation that this toolkit and users' machines have in common
    if(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 13)
      set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 90-real 90-virtual)
    elseif(CUDAToolkit_VERSION VERSION_GREATER_EQUAL 11.8)
      set(CMAKE_CUDA_ARCHITECTURES 60-real 70-real 75-real 80-real 90-real 90-virtual)
    else()
      set(CMAKE_CUDA_ARCHITECTURES 60-real 70-real 75-real 80-real 80-virtual)
    endif()
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  set(${why} "")
  if(NOT CMAKE_CUDA_COMPILER)
    set(${why} "nvcc not found, or it does not work here (CUDACXX says where it is)")
  endif()
endmacro()

# What of it is missing, the first thing.
set(cuda_missing "")
set(SPILLWAY_HAS_CUDA OFF)
if(SPILLWAY_CUDA)
  find_program(nvcc nvcc NO_CACHE)
  spillway_find_toolkit()
  find_package(CUDNN 8 QUIET)
  if(NOT CUDAToolkit_FOUND AND NOT nvcc)  # it is what a toolkit is found by
    set(cuda_missing "nvcc not found, nor a CUDA toolkit of version 11 or later (CUDAToolkit_ROOT says where)")
  elseif(NOT CUDAToolkit_FOUND)
    set(cuda_missing "no CUDA toolkit of version 11 or later found (CUDAToolkit_ROOT says where)")
  elseif(NOT TARGET CUDA::cublas OR NOT TARGET CUDA::cudart_static)
    set(cuda_missing "the CUDA toolkit in ${CUDAToolkit_LIBRARY_DIR} has no cuBLAS or no static CUDA runtime")
  elseif(NOT CUDNN_FOUND)
    set(cuda_missing "no cuDNN of version 8 or later found (CUDNN_ROOT says where)")
  else()
    spillway_find_nvcc(cuda_missing)
  endif()
  if(NOT cuda_missing)
    enable_language(CUDA)
    set(SPILLWAY_HAS_CUDA ON)
  elseif(NOT SPILLWAY_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "SPILLWAY_CUDA=${SPILLWAY_CUDA}: ${cuda_missing}")
  endif()
endif()

# SPILLWAY_CUDA_INTERFACE: what tells a plugin of other sources from this program's. Read again when one of the headers
# changes, and told to the files that compare it alone, so that the others need not be compiled for it.
include(${PROJECT_SOURCE_DIR}/cmake/interface.cmake)
spillway_interface(${PROJECT_SOURCE_DIR} calibrate/devices/cuda/plugin_entry.h NUMBER interface HEADERS interface_headers)
list(TRANSFORM interface_headers PREPEND ${PROJECT_SOURCE_DIR}/)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${interface_headers})
set(SPILLWAY_CUDA_INTERFACE ${interface} CACHE INTERNAL "of the headers that program and CUDA plugin share")

if(SPILLWAY_HAS_CUDA)
  message(STATUS "CUDA device: CUDA ${CUDAToolkit_VERSION}, cuDNN ${CUDNN_VERSION}, nvcc ${CMAKE_CUDA_COMPILER_VERSION}")
elseif(SPILLWAY_CUDA)
  message(STATUS "CUDA device: not built: ${cuda_missing}")
else()
  message(STATUS "CUDA device: not built (SPILLWAY_CUDA=${SPILLWAY_CUDA})")
endif()
