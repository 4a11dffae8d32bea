/* SPDX-License-Identifier: Apache-2.0 */
/* The hash by which contexts find the tables that they have already sent to their device. */
#ifndef MOT_HASH_H
#define MOT_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MOT_HASH_BEGIN UINT64_C(14695981039346656037)

/* FNV-1a over 8-byte words, the last one filled up with zeros. */
static inline uint64_t mot_hash(uint64_t h, const void *data, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, (const char *)data + at, bytes - at < sizeof word ? bytes - at : sizeof word);
        h = (h ^ word) * UINT64_C(1099511628211);
        h ^= h >> 29;
    }
    return h;
}

#endif
