#include <comity/core.h>
#include <comity/version.h>

#include <cstdio>

int main() {
    std::printf("found Comity %s with %d harts\n", comity_version(), comity_hart_count());
    return comity_hart_count() >= 1 && comity_hart_id() == -1 ? 0 : 1;
}
