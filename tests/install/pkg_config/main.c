#include <comity/version.h>
#include <stdio.h>
#include <string.h>

/* argv[1] is the version that pkg-config told. */
int main(int argc, char **argv) {
    printf("linked with Comity %s\n", comity_version());
    return argc == 2 && strcmp(argv[1], comity_version()) == 0 ? 0 : 1;
}
