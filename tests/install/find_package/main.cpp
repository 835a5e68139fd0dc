#include <comity/version.h>

#include <cstdio>

int main() {
    std::printf("found Comity %s\n", comity_version());
    return 0;
}
