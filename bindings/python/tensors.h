/* SPDX-License-Identifier: Apache-2.0 */
/* Describes a list of tensors through DLPack's exchange API, in a small part of the time that their attributes take
 * from Python. CFFI reads this file verbatim. */

/* DLTensor and the start of DLPackExchangeAPI, https://github.com/dmlc/dlpack/blob/main/include/dlpack/dlpack.h */
typedef struct dl_tensor {
    void *data;
    int32_t device_type, device, axes;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides; /* strides: in elements */
    uint64_t byte_offset;
} dl_tensor;

typedef struct dl_exchange {
    uint32_t major, minor;
    void *older, *unused[3];
    int (*look)(void *object, dl_tensor *tensor); /* with the GIL; not 0: a Python error is set */
} dl_exchange;

/* What all tensors of a list have. */
typedef struct tensors_have {
    int32_t channels, device_type, device;
} tensors_have;

/* channel, row, column: the axes of a tensor; without one of channels, channel is -1. */
static int describe_tensor(const dl_tensor *tensor, int channel, int row, int column, motley_image *image,
                           tensors_have *has)
{
    if (tensor->axes != (channel < 0 ? 2 : 3) || tensor->code != 1 || tensor->bits != 8 || tensor->lanes != 1 ||
        !tensor->strides)
        return 0;
    const int64_t width = tensor->shape[column], height = tensor->shape[row];
    const int64_t channels = channel < 0 ? 1 : tensor->shape[channel];
    if (width < 1 || width > INT32_MAX || height < 1 || height > INT32_MAX || channels < 1 || channels > 4)
        return 0;
    const motley_image found = { (char *)tensor->data + tensor->byte_offset,
                                 (int32_t)width,
                                 (int32_t)height,
                                 tensor->strides[row],
                                 tensor->strides[column],
                                 channel < 0 ? 1 : tensor->strides[channel] };
    if ((width > 1 && !found.pixel_stride) || (height > 1 && !found.row_stride) ||
        (channels > 1 && !found.channel_stride))
        return 0; /* it was expanded: see source_of in images.py */
    const tensors_have have = { (int32_t)channels, tensor->device_type, tensor->device };
    *image = found;
    *has = have;
    return 1;
}

/* list, type, exchange: addresses of a list of `count` uint8 tensors, of the type that all shall have, and of that
 * type's exchange API. 1: images and pixels are filled, and `has` says what all have. 0: some tensor is not like the
 * others, or not such a tensor; nothing is known. */
static int describe_tensors(uintptr_t list, size_t count, uintptr_t type, uintptr_t exchange, int channel, int row,
                            int column, motley_image *images, uintptr_t *pixels, tensors_have *has)
{
    const dl_exchange *const api = (const dl_exchange *)exchange;
    if (api->major != 1 || !api->look)
        return 0;
    const PyGILState_STATE gil = PyGILState_Ensure();
    size_t i = 0;
    for (; i < count; i++) {
        tensors_have own;
        dl_tensor tensor;
        PyObject *const object = PyList_GetItem((PyObject *)list, (Py_ssize_t)i);
        if (!object || (uintptr_t)Py_TYPE(object) != type || api->look(object, &tensor) != 0 ||
            !describe_tensor(&tensor, channel, row, column, images + i, &own))
            break;
        if (i == 0)
            *has = own;
        else if (memcmp(has, &own, sizeof own) != 0)
            break;
        pixels[i] = (uintptr_t)images[i].data;
    }
    PyErr_Clear();
    PyGILState_Release(gil);
    return i == count;
}
