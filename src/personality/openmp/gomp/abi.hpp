// How a symbol of libgomp's ABI is defined. Its version node is in libgomp.map.
#pragma once

// All of these may be called from any thread and in any region; those that wait may switch context.
#define COMITY_GOMP extern "C" __attribute__((visibility("default")))
