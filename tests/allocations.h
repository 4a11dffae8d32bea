/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations that can be made to fail. This program's malloc replaces libc's for every library that it loads, so that
 * libyaml's allocations fail, too. For one C file of a test program. */
#ifndef MOT_TESTS_ALLOCATIONS_H
#define MOT_TESTS_ALLOCATIONS_H

#include "motley/status.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Of the calling thread, between begin_allocations() and end_allocations(). */
static _Thread_local struct {
    bool counted;
    long left;   /* before the one that fails; -1: none fails */
    long failed; /* 0 or 1 */
    long live;   /* not freed yet */
} allocations;

/* Makes the k-th allocation of this thread from now on fail, counted from 0; none fails when k is -1. */
static inline void begin_allocations(long k)
{
    allocations.failed = allocations.live = 0;
    allocations.left = k;
    allocations.counted = true;
}

static inline void end_allocations(void)
{
    allocations.counted = false;
}

static __attribute__((no_sanitize_thread)) bool refuse(void)
{
    if (!allocations.counted)
        return false;
    const bool now = allocations.left == 0;
    allocations.failed += now;
    if (allocations.left >= 0)
        allocations.left--;
    return now;
}

static __attribute__((no_sanitize_thread)) void *counted(void *p)
{
    allocations.live += allocations.counted && p;
    return p;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define REAL(name) __interceptor_##name /* the sanitizer's, which checks them */
#define REAL_ALIGNED __interceptor_aligned_alloc
#else
#define REAL(name) __libc_##name
#define REAL_ALIGNED __libc_memalign
#endif
#define EXPORTED __attribute__((visibility("default"), no_sanitize_thread)) /* they run before it is ready */

void *REAL(malloc)(size_t);
void *REAL(calloc)(size_t, size_t);
void *REAL(realloc)(void *, size_t);
void REAL(free)(void *);
void *REAL_ALIGNED(size_t, size_t);

EXPORTED void *malloc(size_t n)
{
    return refuse() ? NULL : counted(REAL(malloc)(n));
}

EXPORTED void *calloc(size_t n, size_t size)
{
    return refuse() ? NULL : counted(REAL(calloc)(n, size));
}

EXPORTED void *aligned_alloc(size_t alignment, size_t n)
{
    return refuse() ? NULL : counted(REAL_ALIGNED(alignment, n));
}

EXPORTED void *realloc(void *old, size_t n)
{
    if (refuse())
        return NULL;
    void *p = REAL(realloc)(old, n);
    return old ? p : counted(p);
}

EXPORTED char *strdup(const char *text)
{
    const size_t n = strlen(text) + 1;
    char *p = malloc(n);
    return p ? memcpy(p, text, n) : NULL;
}

EXPORTED void free(void *p)
{
    allocations.live -= allocations.counted && p;
    REAL(free)(p);
}

/* Calls `work` with the k-th allocation failing, for k = 0, 1, ... until it makes no more than k allocations. If it
 * makes thousands, some k are skipped. `shrugs`: it may succeed without the memory that it did not get. */
static inline void fail_each(motley_status (*work)(void), const char *what, bool shrugs)
{
    long k = -1;
    do {
        k += 1 + k / 64;
        begin_allocations(k);
        const motley_status status = work();
        end_allocations();
        cr_assert_eq(allocations.live, 0, "%s, allocation %ld: %ld blocks leak", what, k, allocations.live);
        cr_assert(status == MOTLEY_OK || status == MOTLEY_ERR_MEMORY, "%s, allocation %ld: status %d", what, k, status);
        cr_assert(status == (allocations.failed ? MOTLEY_ERR_MEMORY : MOTLEY_OK) || (shrugs && status == MOTLEY_OK),
                  "%s, allocation %ld: failure ignored", what, k);
    } while (allocations.failed);
    cr_expect_gt(k, 3, "%s hardly allocates: are allocations counted?", what);
}

#endif
