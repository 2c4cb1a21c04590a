// A library that has nothing to do with Spillway.
extern "C" int SomethingElse();
extern "C" int SomethingElse() { return 0; }
