/* Which Comity is this? */
#ifndef COMITY_VERSION_H
#define COMITY_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

/** The version of the library that is loaded, as "MAJOR.MINOR.PATCH". From any thread, signal handlers included;
 *  never switches; never fails; the string lives as long as the library. */
__attribute__((visibility("default"))) const char *comity_version(void);

#ifdef __cplusplus
}
#endif

#endif
