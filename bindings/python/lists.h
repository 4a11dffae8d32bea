/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the pixels of the objects that hold images, and describes lists of them: torch's tensors by DLPack's exchange
 * API, arrays as buffers, Pillow's images by Arrow's interface. From Python the attributes of an image take ten times
 * as long; whatever shows none of these is looked at there. CFFI reads this file verbatim; objects are passed as their
 * addresses, of id(). */

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

/* The Arrow C data interface's array, https://arrow.apache.org/docs/format/CDataInterface.html */
typedef struct arrow_array {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct arrow_array **children, *dictionary;
    void (*release)(struct arrow_array *);
    void *private_data;
} arrow_array;

/* How the pixels of a class of objects are found. */
#define FOUND_BY_EXCHANGE 0 /* DLPack's, at `exchange` */
#define FOUND_AS_BUFFER 1
#define FOUND_BY_ARROW 2 /* of Pillow 11.2 and later */

typedef struct images_found_by {
    int how;
    uintptr_t type, exchange;     /* addresses of the class, of its DLPackExchangeAPI */
    int only_own;                 /* of Pillow: the memory of read-only images must not be asked for */
    int64_t block_bytes;          /* of Pillow: larger images have several blocks */
    int32_t channel, row, column; /* the axes of an array; without one of channels, channel is -1 */
} images_found_by;

/* What all images of a list have, but for `read_only`: some has it. */
typedef struct images_have {
    int32_t channels, device_type, device, read_only;
} images_have;

/* The pointer in a capsule of that name; 0: it has another one. */
static uintptr_t pointer_in(uintptr_t capsule, const char *name)
{
    const PyGILState_STATE gil = PyGILState_Ensure();
    void *found = NULL;
    if (PyCapsule_IsValid((PyObject *)capsule, name))
        found = PyCapsule_GetPointer((PyObject *)capsule, name);
    PyGILState_Release(gil);
    return (uintptr_t)found;
}

/* The first byte of `bytes` dense bytes of an array of bytes, or of lists of four. 0: it is neither. */
static uintptr_t arrow_bytes(const arrow_array *array, int64_t bytes)
{
    if (array->n_children == 1 && array->offset == 0 && array->length * 4 == bytes)
        array = array->children[0];
    if (array->n_children != 0 || array->offset != 0 || array->length != bytes || array->n_buffers != 2)
        return 0;
    return (uintptr_t)array->buffers[1];
}

/* The first pixel of a Pillow image whose core is `core`, with so many bytes in each pixel. 0: it cannot be found. */
static uintptr_t core_pixels(void *core, int64_t pixel, int32_t width, int32_t height)
{
    PyObject *const shown = PyObject_CallMethod(core, "__arrow_c_array__", NULL);
    const arrow_array *const array = shown ? PyCapsule_GetPointer(shown, "arrow_array") : NULL;
    const uintptr_t found = array ? arrow_bytes(array, width * pixel * height) : 0;
    Py_XDECREF(shown);
    return found;
}

/* The same, from Python. */
static uintptr_t picture_pixels(uintptr_t core, int64_t pixel, int32_t width, int32_t height)
{
    const PyGILState_STATE gil = PyGILState_Ensure();
    const uintptr_t found = core_pixels((void *)core, pixel, width, height);
    PyErr_Clear();
    PyGILState_Release(gil);
    return found;
}

/* The channels of a mode of Pillow's whose pixels can be reached, else 0. */
static int32_t channels_of(void *mode)
{
    static const char *const modes[] = { "", "L", "", "RGB", "RGBA" };
    for (int32_t channels = 4; channels > 0; channels--)
        if (*modes[channels] && PyUnicode_CompareWithASCIIString(mode, modes[channels]) == 0)
            return channels;
    return 0;
}

/* Whether an object, which is released, is true. */
static int is_true(void *object)
{
    const int is = object && PyObject_IsTrue(object) == 1;
    Py_XDECREF((PyObject *)object);
    return is;
}

static int describe_picture(void *picture, const images_found_by *by, motley_image *image, images_have *has)
{
    if (by->only_own && is_true(PyObject_GetAttrString(picture, "readonly")))
        return 0;
    PyObject *const core = PyObject_GetAttrString(picture, "im");
    PyObject *const mode = core ? PyObject_GetAttrString(core, "mode") : NULL;
    PyObject *const size = mode ? PyObject_GetAttrString(core, "size") : NULL;
    const int32_t channels = mode ? channels_of(mode) : 0;
    const int64_t pixel = channels == 1 ? 1 : 4;
    int width = 0, height = 0;
    uintptr_t found = 0;
    if (size && channels && PyArg_ParseTuple(size, "ii", &width, &height) && width * pixel * height < by->block_bytes)
        found = core_pixels(core, pixel, width, height);
    Py_XDECREF(size);
    Py_XDECREF(mode);
    Py_XDECREF(core);
    if (!found)
        return 0;
    const motley_image made = { (void *)found, width, height, width * pixel, pixel, 1 };
    const images_have have = { channels, 1, 0, 1 };
    *image = made;
    *has = have;
    return 1;
}

static int describe_tensor(const dl_tensor *tensor, const images_found_by *by, motley_image *image, images_have *has)
{
    if (tensor->axes != (by->channel < 0 ? 2 : 3) || tensor->code != 1 || tensor->bits != 8 || tensor->lanes != 1 ||
        !tensor->strides)
        return 0;
    const int64_t width = tensor->shape[by->column], height = tensor->shape[by->row];
    const int64_t channels = by->channel < 0 ? 1 : tensor->shape[by->channel];
    if (width < 1 || width > INT32_MAX || height < 1 || height > INT32_MAX || channels < 1 || channels > 4)
        return 0;
    const motley_image found = { (char *)tensor->data + tensor->byte_offset,
                                 (int32_t)width,
                                 (int32_t)height,
                                 tensor->strides[by->row],
                                 tensor->strides[by->column],
                                 by->channel < 0 ? 1 : tensor->strides[by->channel] };
    if ((width > 1 && !found.pixel_stride) || (height > 1 && !found.row_stride) ||
        (channels > 1 && !found.channel_stride))
        return 0; /* it was expanded: see source_of in _images.py */
    const images_have have = { (int32_t)channels, tensor->device_type, tensor->device, 0 };
    *image = found;
    *has = have;
    return 1;
}

static int describe_buffer(void *array, const images_found_by *by, motley_image *image, images_have *has)
{
    Py_buffer buffer;
    if (PyObject_GetBuffer(array, &buffer, PyBUF_STRIDES | PyBUF_FORMAT) != 0)
        return 0;
    int done = 0;
    if (buffer.format && strcmp(buffer.format, "B") == 0 && (buffer.ndim == 2 || buffer.ndim == 3)) {
        int64_t shape[3], strides[3];
        for (int i = 0; i < buffer.ndim; i++) {
            shape[i] = buffer.shape[i];
            strides[i] = buffer.strides[i];
        }
        const dl_tensor tensor = { .data = buffer.buf,
                                   .device_type = 1,
                                   .axes = buffer.ndim,
                                   .code = 1,
                                   .bits = 8,
                                   .lanes = 1,
                                   .shape = shape,
                                   .strides = strides };
        done = describe_tensor(&tensor, by, image, has);
        has->read_only = buffer.readonly;
    }
    PyBuffer_Release(&buffer);
    return done;
}

static int describe_object(void *object, const images_found_by *by, motley_image *image, images_have *has)
{
    if ((uintptr_t)Py_TYPE((PyObject *)object) != by->type)
        return 0;
    if (by->how == FOUND_AS_BUFFER)
        return describe_buffer(object, by, image, has);
    if (by->how == FOUND_BY_ARROW)
        return describe_picture(object, by, image, has);
    const dl_exchange *const api = (const dl_exchange *)by->exchange;
    dl_tensor tensor;
    return api->major == 1 && api->look && api->look(object, &tensor) == 0 && describe_tensor(&tensor, by, image, has);
}

/* list: a list of `count` images, uint8. 1: images and pixels are filled, and `has` says what all have. 0: some image
 * is not like the others, or its pixels cannot be found; nothing is known. */
static int describe_list(uintptr_t list, size_t count, const images_found_by *by, motley_image *images,
                         uintptr_t *pixels, images_have *has)
{
    const PyGILState_STATE gil = PyGILState_Ensure();
    int32_t read_only = 0;
    size_t i = 0;
    for (; i < count; i++) {
        images_have own;
        PyObject *const object = PyList_GetItem((PyObject *)list, (Py_ssize_t)i);
        if (!object || !describe_object(object, by, images + i, &own))
            break;
        read_only |= own.read_only;
        if (i == 0)
            *has = own;
        else if (has->channels != own.channels || has->device_type != own.device_type || has->device != own.device)
            break;
        pixels[i] = (uintptr_t)images[i].data;
    }
    has->read_only = read_only;
    PyErr_Clear();
    PyGILState_Release(gil);
    return i == count;
}

/* Describes dense images of the sizes of `like` that lie in one allocation, as planes or pixel by pixel. Each begins at
 * a multiple of 16 bytes, as the GPU reads so many. `begins` gets the bytes before each; returns those of all. */
static int64_t lay_out(const motley_image *like, size_t count, int32_t channels, int planes, motley_image *images,
                       uintptr_t *begins)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        const int64_t width = like[i].width, pixels = width * like[i].height;
        const motley_image laid = { NULL,
                                    like[i].width,
                                    like[i].height,
                                    planes ? width : width * channels,
                                    planes ? 1 : channels,
                                    planes ? pixels : 1 };
        images[i] = laid;
        begins[i] = (uintptr_t)bytes;
        bytes += (pixels * channels + 15) / 16 * 16;
    }
    return bytes;
}

/* Puts them at an address; their offsets become addresses. */
static void lay_at(uintptr_t base, size_t count, motley_image *images, uintptr_t *begins)
{
    for (size_t i = 0; i < count; i++)
        images[i].data = (void *)(begins[i] += base);
}

static void *ordered(const int64_t numbers[3], const int32_t *order, int32_t count)
{
    PyObject *const tuple = PyTuple_New(count);
    for (int32_t i = 0; tuple && i < count; i++)
        PyTuple_SetItem(tuple, i, PyLong_FromLongLong(numbers[order[i]]));
    return tuple;
}

/* Fills a list with what make(tensor, shape, strides, begin) gives for each image. order: of each axis whether it is
 * that of channels (0), rows (1) or columns (2). 0: something failed. */
static int make_views(uintptr_t list, uintptr_t make, uintptr_t tensor, const motley_image *images,
                      const uintptr_t *begins, size_t count, int32_t channels, const int32_t *order, int32_t axes)
{
    const PyGILState_STATE gil = PyGILState_Ensure();
    int done = 1;
    for (size_t i = 0; i < count && done; i++) {
        const int64_t extents[] = { channels, images[i].height, images[i].width };
        const int64_t along[] = { images[i].channel_stride, images[i].row_stride, images[i].pixel_stride };
        PyObject *const shape = ordered(extents, order, axes), *const strides = ordered(along, order, axes);
        PyObject *const begin = PyLong_FromUnsignedLongLong(begins[i]);
        PyObject *view = NULL;
        if (shape && strides && begin)
            view = PyObject_CallFunctionObjArgs((PyObject *)make, (PyObject *)tensor, shape, strides, begin, NULL);
        Py_XDECREF(shape);
        Py_XDECREF(strides);
        Py_XDECREF(begin);
        done = view && PyList_SetItem((PyObject *)list, (Py_ssize_t)i, view) == 0;
    }
    PyErr_Clear();
    PyGILState_Release(gil);
    return done;
}
