// What libcomity.so shows to Comity's own drop-ins, which are shared objects of their own. Not a public interface.
#pragma once

#define COMITY_SHARED __attribute__((visibility("default")))
