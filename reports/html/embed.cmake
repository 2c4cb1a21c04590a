# cmake -DPAGE= -DSOURCE= -P embed.cmake: writes SOURCE, which defines PageTemplate() of reports/html/page.h.
file(READ ${PAGE} text)
string(FIND "${text}" ")PAGE\"" end)
if(NOT end EQUAL -1)
  message(FATAL_ERROR "${PAGE} holds the end of the literal that it becomes")
endif()
file(WRITE ${SOURCE} "#include \"reports/html/page.h\"\n\nstd::string_view spillway::PageTemplate() {\n  return R\"PAGE(${text})PAGE\";\n}\n")
