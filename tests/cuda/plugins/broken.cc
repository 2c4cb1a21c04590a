// A plugin that needs a library which the loader does not find.
int Nowhere();
extern "C" int SpillwayCudaInterface();
extern "C" int SpillwayCudaInterface() { return Nowhere(); }
