// A plugin of another version, which must not be called beyond its first function.
extern "C" int SpillwayCudaInterface();
extern "C" int SpillwayCudaInterface() { return -1; }
extern "C" void SpillwayMakeCudaCalls();
extern "C" void SpillwayMakeCudaCalls() {}
