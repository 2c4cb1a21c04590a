# The Python package `spillway`, as `pip install` and .ci/wheel install it (component `package`):
#   spillway/*.py        from calibrate/torch/package/ (pyproject.toml copies them)
#   spillway/torch/      __init__.py is recorder and carrier joined; the example beside it
#   spillway/program/    the folder SPILLWAY_PACKAGE_FOLDER: the program with its libraries, profiles, scenarios, licences
find_package(Python3 3.8 COMPONENTS Interpreter)
install(DIRECTORY ${SPILLWAY_PACKAGE_FOLDER}/ DESTINATION program USE_SOURCE_PERMISSIONS COMPONENT package EXCLUDE_FROM_ALL
  PATTERN "__pycache__" EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/calibrate/torch/example.py DESTINATION torch COMPONENT package EXCLUDE_FROM_ALL)
install(CODE "
  execute_process(
    COMMAND \"${Python3_EXECUTABLE}\" \"${PROJECT_SOURCE_DIR}/calibrate/torch/join.py\"
      -o \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/torch/__init__.py\"
    COMMAND_ERROR_IS_FATAL ANY)
" COMPONENT package EXCLUDE_FROM_ALL)
