/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the pixels of a Pillow image from what Pillow exposes about its memory. CFFI reads this file verbatim. */

/* The Arrow C data interface's array, https://arrow.apache.org/docs/format/CDataInterface.html */
typedef struct arrow_array {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct arrow_array **children, *dictionary;
    void (*release)(struct arrow_array *);
    void *private_data;
} arrow_array;

/* The first byte of `bytes` bytes, dense: an array of bytes, or of lists of four. 0: the array is neither. */
static uintptr_t arrow_bytes(uintptr_t address, int64_t bytes)
{
    const arrow_array *array = (const arrow_array *)address;
    if (array->n_children == 1 && array->offset == 0 && array->length * 4 == bytes)
        array = array->children[0];
    if (array->n_children != 0 || array->offset != 0 || array->length != bytes || array->n_buffers != 2)
        return 0;
    return (uintptr_t)array->buffers[1];
}

/* The same from a table of the addresses of `height` rows, `stride` bytes each. 0: they are not contiguous. */
static uintptr_t rows_bytes(uintptr_t table, int32_t height, int64_t stride)
{
    const uintptr_t *rows = (const uintptr_t *)table;
    for (int32_t y = 0; y < height; y++)
        if (rows[y] != rows[0] + (uintptr_t)(y * stride))
            return 0;
    return height > 0 ? rows[0] : 0;
}
