/* SPDX-License-Identifier: Apache-2.0 */
/* JPEG files to the network's input on the GPU: nvJPEG decodes, Motley crops, resizes, flips and normalises, and the
 * batch is consumed; here its mean is printed. All of it is queued on one stream.
 *
 *     example_nvjpeg IMAGE.jpg...
 *
 * Beside a model, nvJPEG's streams and the model's need more than CUDA's 8 hardware queues, or they wait for each
 * other: the first line of main asks for 32, which CUDA reads when it begins.
 *
 * nvJPEG's pixels differ from Pillow's, because it upsamples chroma in another way. For the same pixels, Motley's
 * results equal those on the CPU, bit for bit. */
#define _POSIX_C_SOURCE 200112L /* setenv */
#include <cuda_runtime_api.h>
#include <motley.h>
#include <nvjpeg.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_IMAGES 256

/* Ends the program with a message if something went wrong. */
static void need(int good, const char *what, const char *why)
{
    if (good)
        return;
    fprintf(stderr, "example_nvjpeg: %s: %s\n", what, why);
    exit(1);
}

static void need_cuda(cudaError_t code, const char *what)
{
    need(code == cudaSuccess, what, cudaGetErrorString(code));
}

static unsigned char *read_file(const char *path, size_t *length)
{
    FILE *const file = fopen(path, "rb");
    need(file != NULL, path, "cannot be opened");
    fseek(file, 0, SEEK_END);
    const long size = ftell(file);
    rewind(file);
    unsigned char *const bytes = size > 0 ? malloc((size_t)size) : NULL;
    need(bytes && fread(bytes, 1, (size_t)size, file) == (size_t)size, path, "cannot be read");
    fclose(file);
    *length = (size_t)size;
    return bytes;
}

/* Queues the decoding of a file into device memory, dense RGB. A real loader would reuse that memory. */
static motley_image decode(nvjpegHandle_t decoder, nvjpegJpegState_t state, const char *path, cudaStream_t stream)
{
    int components, widths[NVJPEG_MAX_COMPONENT], heights[NVJPEG_MAX_COMPONENT];
    nvjpegChromaSubsampling_t subsampling;
    size_t length;
    unsigned char *const file = read_file(path, &length);
    need(nvjpegGetImageInfo(decoder, file, length, &components, &subsampling, widths, heights) == NVJPEG_STATUS_SUCCESS,
         path, "is no JPEG file that nvJPEG reads");
    motley_image image = { .width = widths[0],
                           .height = heights[0],
                           .row_stride = (int64_t)widths[0] * 3,
                           .pixel_stride = 3,
                           .channel_stride = 1 };
    need_cuda(cudaMalloc(&image.data, (size_t)image.width * (size_t)image.height * 3), path);
    nvjpegImage_t out = { .channel = { image.data }, .pitch = { (size_t)image.width * 3 } };
    need(nvjpegDecode(decoder, state, file, length, NVJPEG_OUTPUT_RGBI, &out, stream) == NVJPEG_STATUS_SUCCESS, path,
         "cannot be decoded");
    need_cuda(cudaStreamSynchronize(stream), path); /* the file's bytes are read until then */
    free(file);
    return image;
}

int main(int argc, char **argv)
{
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
    const int count = argc - 1;
    if (count < 1 || count > MOST_IMAGES) {
        fprintf(stderr, "usage: example_nvjpeg IMAGE.jpg...   (1 to %d of them)\n", MOST_IMAGES);
        return 2;
    }
    motley_error error = { .message = "" };
    motley_context *context;
    motley_policy *transform;
    const motley_context_params where = { .backend = MOTLEY_BACKEND_CUDA };
    need(motley_context_create(&where, &context, &error) == MOTLEY_OK, "context", error.message);
    need(motley_policy_builtin("torchvision_train", &transform, &error) == MOTLEY_OK, "transform", error.message);
    const motley_policy_info *const info = motley_policy_describe(transform);

    nvjpegHandle_t decoder;
    nvjpegJpegState_t state;
    cudaStream_t stream;
    need(nvjpegCreateSimple(&decoder) == NVJPEG_STATUS_SUCCESS, "nvJPEG", "cannot start");
    need(nvjpegJpegStateCreate(decoder, &state) == NVJPEG_STATUS_SUCCESS, "nvJPEG", "no memory");
    need_cuda(cudaStreamCreate(&stream), "stream");
    motley_image images[MOST_IMAGES];
    for (int i = 0; i < count; i++)
        images[i] = decode(decoder, state, argv[1 + i], stream);

    const size_t values = (size_t)count * 3 * (size_t)info->width * (size_t)info->height;
    float *const host = malloc(values * sizeof *host);
    need(host != NULL, "batch", "no memory");
    const motley_batch src = { .count = (size_t)count, .channels = 3, .images = images };
    motley_batch dst = { .count = (size_t)count,
                         .channels = 3,
                         .dtype = MOTLEY_F32,
                         .layout = MOTLEY_CHW,
                         .width = info->width,
                         .height = info->height };
    need_cuda(cudaMalloc(&dst.data, values * sizeof(float)), "batch");
    const motley_apply_params params = { .samples = { .seed = 7 }, .stream = stream };
    need(motley_apply(context, transform, &src, &dst, &params, &error) == MOTLEY_OK, "transform", error.message);
    need_cuda(cudaMemcpyAsync(host, dst.data, values * sizeof *host, cudaMemcpyDeviceToHost, stream), "batch");
    need_cuda(cudaStreamSynchronize(stream), "batch");
    double sum = 0;
    for (size_t i = 0; i < values; i++)
        sum += (double)host[i];
    printf("%d images, %d x 3 x %d x %d values, mean %.4f\n", count, count, info->height, info->width,
           sum / (double)values);

    for (int i = 0; i < count; i++)
        cudaFree(images[i].data);
    cudaFree(dst.data);
    free(host);
    cudaStreamDestroy(stream);
    nvjpegJpegStateDestroy(state);
    nvjpegDestroy(decoder);
    motley_policy_destroy(transform);
    motley_context_destroy(context);
    return 0;
}
