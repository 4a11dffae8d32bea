/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the command's reading of image files, EXIF included: any bytes are refused with a sentence, or are an image of
 * the size that its header says, which is written as a PNG and reads back the same. */
#include "tests/fuzz/fuzz.h"
#include "tools/picture.h"

#include <sys/mman.h>
#include <unistd.h>

/* Larger images take seconds under sanitizers, and test nothing that small ones do not. */
#define MOST_BYTES (1u << 22)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64], why[PICTURE_WHY] = "";
    picture image, back;
    exif_orientation(data, size);
    const int file = memfd_create("image", 0);
    MUST(file >= 0 && write(file, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    const size_t bytes = picture_file_bytes(path);
    if (bytes <= MOST_BYTES) {
        if (!picture_read(path, &image, why)) {
            MUST(*why && !image.pixels);
        } else {
            MUST(image.pixels && picture_bytes(&image) == bytes && image.channels >= 1 && image.channels <= 4);
            FILE *stream = tmpfile();
            int orientation = 1;
            MUST(stream && png_write(stream, &image, 1, why));
            rewind(stream);
            MUST(png_read(stream, &back, &orientation, why));
            MUST(back.width == image.width && back.height == image.height && back.channels == image.channels);
            MUST(memcmp(back.pixels, image.pixels, bytes) == 0);
            fclose(stream);
            picture_free(&back);
            picture_free(&image);
        }
    }
    close(file);
    return 0;
}
