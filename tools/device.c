/* SPDX-License-Identifier: Apache-2.0 */
/* Copies host images to a context's device, runs work on them there, and copies them back. */
#include "tools/tool.h"

#include <stdlib.h>

#define ALIGNMENT 256 /* of each image on the device, so that all routes are open to it */

static size_t room_of(const motley_image *image)
{
    return ((size_t)image->height * (size_t)image->row_stride + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Copies every image between host and device. */
static motley_status carry(motley_context *context, const motley_image *host, const motley_image *device, size_t count,
                           bool there, motley_error *error)
{
    motley_status status = MOTLEY_OK;
    for (size_t i = 0; i < count && status == MOTLEY_OK; i++) {
        const motley_image *to = there ? &device[i] : &host[i], *from = there ? &host[i] : &device[i];
        status =
            motley_memory_copy(context, to->data, from->data, (size_t)to->height * (size_t)to->row_stride, NULL, error);
    }
    return status;
}

motley_status work_on_device(motley_context *context, const motley_batch *host, device_work *work, void *user,
                             motley_error *error)
{
    const motley_image *const images = host->images;
    const size_t count = host->count;
    if (motley_context_backend(context) != MOTLEY_BACKEND_CUDA || count == 0)
        return work(user, host, error);
    motley_image *device = need(malloc(count * sizeof *device));
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += room_of(&images[i]);
    void *memory = NULL;
    motley_status status = motley_memory_create(context, MOTLEY_MEMORY_DEVICE, bytes, &memory, error);
    for (size_t i = 0, at = 0; i < count; at += room_of(&images[i++])) {
        device[i] = images[i];
        device[i].data = (char *)memory + at;
    }
    motley_batch batch = *host;
    batch.images = device;
    if (status == MOTLEY_OK)
        status = carry(context, images, device, count, true, error);
    if (status == MOTLEY_OK)
        status = work(user, &batch, error);
    if (status == MOTLEY_OK)
        status = carry(context, images, device, count, false, error);
    if (status == MOTLEY_OK)
        status = motley_context_wait(context, NULL, error);
    motley_memory_destroy(context, memory);
    free(device);
    return status;
}
