/* SPDX-License-Identifier: Apache-2.0 */
/* Notices when samples of an epoch are drawn again, alike: a sample of the (id, view) that came, at most REPEATS_HELD
 * of them whatever the data set's size. A sample's hash decides whether it is held, so that a second pass in any order
 * meets those of the first. CFFI reads this file verbatim. */
#define REPEATS_HELD 512

typedef struct repeats {
    uint64_t mask; /* held are those whose hash has none of the mask's bits */
    uint32_t epoch, held, again;
    uint8_t busy;        /* with another thread's samples: this one's are let go by */
    uint64_t repeated;   /* an id that came again */
    uint64_t slot[1024]; /* hashes, 0 where there is none */
} repeats;

static int repeats_add(repeats *r, uint64_t hash)
{
    uint32_t at = (uint32_t)(hash >> 54);
    for (; r->slot[at]; at = (at + 1) % 1024)
        if (r->slot[at] == hash)
            return 0;
    r->slot[at] = hash;
    r->held++;
    return 1;
}

static void repeats_thin_out(repeats *r)
{
    uint64_t old[1024];
    memcpy(old, r->slot, sizeof old);
    memset(r->slot, 0, sizeof r->slot);
    r->mask = r->mask << 1 | 1;
    r->held = 0;
    r->again /= 2;
    for (int i = 0; i < 1024; i++)
        if (old[i] && !(old[i] & r->mask))
            repeats_add(r, old[i]);
}

/* Notes `count` samples. 1: as many as a quarter of what is held have come again. Neighbours that are one sample are a
 * group, such as the frames of a clip: they are meant to draw alike, and count once. name: of the policy; others draw
 * something else. */
static int repeats_note(repeats *r, const motley_samples *samples, size_t count, const char *name)
{
    if (__atomic_exchange_n(&r->busy, 1, __ATOMIC_ACQUIRE))
        return 0;
    if (samples->epoch != r->epoch) {
        memset(r->slot, 0, sizeof r->slot);
        r->mask = r->held = r->again = 0;
        r->epoch = samples->epoch;
    }
    uint64_t key = samples->seed;
    for (; *name; name++)
        key = (key ^ (uint8_t)*name) * UINT64_C(0x100000001B3);
    uint64_t last_id = 0;
    uint32_t last_view = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t id = samples->ids ? samples->ids[i] : samples->first + i;
        const uint32_t v = samples->views ? samples->views[i] : samples->view;
        const int of_group = i > 0 && id == last_id && v == last_view;
        last_id = id;
        last_view = v;
        if (of_group)
            continue;
        uint64_t hash = (key ^ id + v * UINT64_C(0xD1B54A32D192ED03) + 1) * UINT64_C(0x9E3779B97F4A7C15);
        hash = (hash ^ hash >> 32) * UINT64_C(0xD6E8FEB86659FD93);
        if (hash & r->mask)
            continue;
        if (!repeats_add(r, hash)) {
            r->again++;
            r->repeated = id;
        } else if (r->held > REPEATS_HELD) {
            repeats_thin_out(r);
        }
    }
    const int repeated = r->again > 0 && r->again * 4 >= r->held;
    __atomic_store_n(&r->busy, 0, __ATOMIC_RELEASE);
    return repeated;
}
