/* SPDX-License-Identifier: Apache-2.0 */
/** The library's version, at compile time and at run time. */
#ifndef MOTLEY_VERSION_H
#define MOTLEY_VERSION_H

#define MOTLEY_VERSION_MAJOR 0
#define MOTLEY_VERSION_MINOR 2
#define MOTLEY_VERSION_PATCH 0

/* Marks what the shared library exports; everything else is hidden. */
#if defined(_WIN32)
#define MOTLEY_API __declspec(dllexport)
#else
#define MOTLEY_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** The version of the library that is running, such as "0.2.0". */
MOTLEY_API const char *motley_version(void);

#ifdef __cplusplus
}
#endif
#endif
