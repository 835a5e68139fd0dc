/* Every C header at once, as a program with many warnings compiles them. */
#include <comity/core.h>
#include <comity/fork.h>
#include <comity/pool.h>
#include <comity/scheduler.h>
#include <comity/sync.h>
#include <comity/thread.h>
#include <comity/version.h>

#include <abt.h>

int main(void) { return comity_version()[0] == '\0'; }
