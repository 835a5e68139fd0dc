#include "comity/version.h"

extern "C" const char *comity_version(void) { return COMITY_VERSION_STRING; }
