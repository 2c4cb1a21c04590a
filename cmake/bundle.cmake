# cmake -DPROGRAMS= -DPLUGIN= (or empty) -DSOURCE= -DFOLDER= -P bundle.cmake: fills FOLDER with the programs, the plugin,
# the shared libraries of all that are not libc's, CUDA's or cuDNN's, their licences, the profiles, the scenarios,
# gpu-run.sh and what it runs.
set(outside "^ld-linux" "^linux-vdso" "^lib(c|m|dl|rt|pthread|resolv|util|nsl)\\.so"
  "^lib(cuda|cudart|cudnn|cublas|cublasLt|nvrtc|nvidia)[^/]*\\.so")
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${PROGRAMS} MODULES ${PLUGIN}
  PRE_EXCLUDE_REGEXES ${outside}
  RESOLVED_DEPENDENCIES_VAR libraries UNRESOLVED_DEPENDENCIES_VAR missing)
if(missing)
  message(FATAL_ERROR "not found: ${missing}")
endif()

# The package that a file is of, by Debian's books; empty where there are none. By the last folder and the name: /lib may
# be /usr/lib.
function(package_of file result)
  string(REGEX MATCH "[^/]+/[^/]+$" end ${file})
  execute_process(COMMAND dpkg-query --search */${end} OUTPUT_VARIABLE found ERROR_QUIET RESULT_VARIABLE status)
  string(REGEX MATCH "^[^:, ]+" package "${found}")
  if(NOT status EQUAL 0)
    set(package)
  endif()
  set(${result} "${package}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER}/licences)
set(notice "Spillway's own licence is in LICENSE. This folder holds libraries of others as well, unchanged:\n\n")
foreach(library IN LISTS libraries)
  get_filename_component(name ${library} NAME)  # as the loader asks for it; the file behind it may have another
  file(REAL_PATH ${library} file)
  file(COPY_FILE ${file} ${FOLDER}/${name})
  package_of(${file} package)
  if(package AND EXISTS /usr/share/doc/${package}/copyright)
    file(REAL_PATH /usr/share/doc/${package}/copyright copyright)
    file(COPY_FILE ${copyright} ${FOLDER}/licences/${package})
    string(APPEND notice "${name}: of Debian's package ${package}; licences/${package}\n")
  else()
    message(WARNING "${name}: its licence was not found; add it to ${FOLDER}/licences before passing the folder on")
    string(APPEND notice "${name}: its licence was not found where this folder was made\n")
  endif()
endforeach()
if(PLUGIN)
  string(APPEND notice "\nlibspillway_cuda.so contains NVIDIA's CUDA runtime (libcudart_static.a), under the licence "
    "agreement of the CUDA toolkit:\nhttps://docs.nvidia.com/cuda/eula/. cuDNN and cuBLAS are not in this folder.\n")
endif()
file(WRITE ${FOLDER}/NOTICE "${notice}")
file(COPY ${PROGRAMS} ${PLUGIN} ${SOURCE}/LICENSE ${SOURCE}/README.md ${SOURCE}/scenarios DESTINATION ${FOLDER}
  PATTERN "*.cc" EXCLUDE PATTERN "*.h" EXCLUDE PATTERN "CMakeLists.txt" EXCLUDE)
file(COPY ${SOURCE}/hw DESTINATION ${FOLDER} FILES_MATCHING PATTERN "*.yaml" PATTERN "*.csv")
file(COPY ${SOURCE}/model/networks DESTINATION ${FOLDER}/model)  # scenarios refer to it
# Work from there.
file(GLOB scripts ${SOURCE}/calibrate/gpu-*.sh)
file(COPY ${scripts} ${SOURCE}/calibrate/peers DESTINATION ${FOLDER}/calibrate
  PATTERN "__pycache__" EXCLUDE)
