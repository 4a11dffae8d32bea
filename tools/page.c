/* SPDX-License-Identifier: Apache-2.0 */
/* See page.h. */
#include "tools/page.h"

#include "tools/tool.h"

#include <stdlib.h>
#include <string.h>

#define PNG_EFFORT 6

static const char style[] =
    ":root{color-scheme:light dark;--back:#fff;--text:#1c1c1e;--soft:#6b6b70;--line:#d8d8dc;--fill:#3d6fd9}\n"
    "@media(prefers-color-scheme:dark){:root{--back:#17181a;--text:#ececef;--soft:#9a9aa2;--line:#3a3b40;"
    "--fill:#7ba2f5}}\n"
    "body{background:var(--back);color:var(--text);font:15px/1.45 system-ui,sans-serif;max-width:1500px;"
    "margin:2em auto;padding:0 1.5em}\n"
    "h1{margin-bottom:.1em}h2{margin-top:1.8em}.paper{color:var(--soft);margin-top:0}\n"
    ".row{display:flex;flex-wrap:wrap;gap:10px;margin-bottom:14px}.row[hidden]{display:none}\n"
    "figure{margin:0}.frame{position:relative;display:inline-block;line-height:0}\n"
    ".frame img{border-radius:4px}.frame .mask,.frame .boxes{position:absolute;left:0;top:0;width:100%;height:100%;"
    "image-rendering:pixelated}\n"
    ".boxes rect{fill:none;stroke:#ffd400;stroke-width:2px;vector-effect:non-scaling-stroke}\n"
    ".boxes .box1{stroke:#00d0ff}.boxes .box2{stroke:#ff5fa2}.boxes .box3{stroke:#6fe36f}.boxes .box4{stroke:#b58cff}\n"
    ".boxes text{fill:#fff;stroke:#000;stroke-width:3px;paint-order:stroke;vector-effect:non-scaling-stroke}\n"
    ".boxes .erased{fill:#808080;stroke:none}\n"
    "figcaption{font-size:12px;color:var(--soft);max-width:200px}.step{display:block}\n"
    "table{border-collapse:collapse}td,th{text-align:left;padding:3px 12px 3px 0;border-bottom:1px solid var(--line)}\n"
    "td:nth-child(3){width:220px}.number{text-align:right;font-variant-numeric:tabular-nums}\n"
    ".bar{height:11px;background:var(--fill);border-radius:2px}.magnitudes{width:130px;height:22px;fill:var(--fill)}\n"
    "pre{overflow-x:auto;border:1px solid var(--line);border-radius:4px;padding:12px;max-height:600px}\n"
    "input[type=range]{width:320px}\n";

static const char script[] =
    "const level = document.getElementById('level');\n"
    "if (level) {\n"
    "  const stops = [...document.querySelectorAll('.stop')];\n"
    "  const show = () => {\n"
    "    stops.forEach((stop, i) => { stop.hidden = i != level.value; });\n"
    "    document.getElementById('level-name').textContent = 'level ' + stops[level.value].dataset.level;\n"
    "  };\n"
    "  level.addEventListener('input', show);\n"
    "  show();\n"
    "}\n";

void page_begin(FILE *page, const char *title)
{
    fprintf(page, "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">"
                  "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
    page_text(page, title);
    fprintf(page, "</title>\n<style>\n%s</style></head>\n<body>\n<h1>", style);
    page_text(page, title);
    fprintf(page, "</h1>\n");
}

void page_end(FILE *page)
{
    fprintf(page, "<script>\n%s</script>\n</body>\n</html>\n", script);
}

void page_text(FILE *page, const char *text)
{
    for (; *text; text++) {
        const char *entity = *text == '&' ? "&amp;" : *text == '<' ? "&lt;" : *text == '>' ? "&gt;" : NULL;
        if (entity)
            fputs(entity, page);
        else
            fputc(*text, page);
    }
}

static void put_base64(FILE *page, const uint8_t *bytes, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < length; i += 3) {
        const size_t left = length - i;
        const uint32_t v =
            (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) | (left > 2 ? bytes[i + 2] : 0u);
        fputc(digits[v >> 18], page);
        fputc(digits[v >> 12 & 63], page);
        fputc(left > 1 ? digits[v >> 6 & 63] : '=', page);
        fputc(left > 2 ? digits[v & 63] : '=', page);
    }
}

void page_picture(FILE *page, const picture *image, const char *attributes)
{
    char *png = NULL, why[PICTURE_WHY];
    size_t length = 0;
    FILE *memory = need(open_memstream(&png, &length));
    if (!png_write(memory, image, PNG_EFFORT, why)) {
        complain("a picture for the page: %s", why);
        exit(EXIT_INPUT);
    }
    fclose(memory);
    fprintf(page, "<img width=\"%d\" height=\"%d\" %s alt=\"\" src=\"data:image/png;base64,", image->width,
            image->height, attributes);
    put_base64(page, (const uint8_t *)png, length);
    fprintf(page, "\">");
    free(png);
}
