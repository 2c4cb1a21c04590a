# cmake -DPROGRAM= -DPLUGIN= (or empty) -DSOURCE= -DFOLDER= -P bundle.cmake: fills FOLDER with the program, its plugin,
# the shared libraries of both that are not libc's, CUDA's or cuDNN's, the profiles and the scenarios.
set(outside "^ld-linux" "^linux-vdso" "^lib(c|m|dl|rt|pthread|resolv|util|nsl)\\.so"
  "^lib(cuda|cudart|cudnn|cublas|cublasLt|nvrtc|nvidia)[^/]*\\.so")
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${PROGRAM} MODULES ${PLUGIN}
  PRE_EXCLUDE_REGEXES ${outside}
  RESOLVED_DEPENDENCIES_VAR libraries UNRESOLVED_DEPENDENCIES_VAR missing)
if(missing)
  message(FATAL_ERROR "not found: ${missing}")
endif()

file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
foreach(library IN LISTS libraries)
  get_filename_component(name ${library} NAME)  # as the loader asks for it; the file behind it may have another
  file(REAL_PATH ${library} file)
  file(COPY_FILE ${file} ${FOLDER}/${name})
endforeach()
file(COPY ${PROGRAM} ${PLUGIN} ${SOURCE}/LICENSE ${SOURCE}/README.md ${SOURCE}/scenarios DESTINATION ${FOLDER}
  PATTERN "*.cc" EXCLUDE PATTERN "*.h" EXCLUDE PATTERN "CMakeLists.txt" EXCLUDE)
file(COPY ${SOURCE}/hw DESTINATION ${FOLDER} FILES_MATCHING PATTERN "*.yaml" PATTERN "*.csv")
file(COPY ${SOURCE}/model/networks DESTINATION ${FOLDER}/model)  # scenarios refer to it
