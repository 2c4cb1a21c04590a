// A plugin of another version, from when versions were counted, which must not be called beyond its first function.
extern "C" int SpillwayCudaInterface();
extern "C" int SpillwayCudaInterface() { return 3; }
extern "C" void SpillwayMakeCudaCalls();
extern "C" void SpillwayMakeCudaCalls() {}
