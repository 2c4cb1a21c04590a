// A library that is not there when the plugin is loaded.
int Nowhere();
int Nowhere() { return 0; }
