# SPDX-License-Identifier: Apache-2.0
"""The documentation site in a browser: at the width of a phone and of a desk nothing sticks out of a page, every
picture loads, search finds an op, and the theme can be switched.

    test_site.py HTML        the folder that scripts/docs.sh builds; needs headless Chromium"""

import functools
import html
import http.server
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

site = None
CHROMIUM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))), None)
PAGES = (
    "doc/site/index.html",
    "doc/site/gallery.html",
    "doc/ops.html",
    "README.html",
    "doc/supported.html",
    "doc/performance.html",
    "doc/benchmarks.html",
    "doc/migrate.html",
    "doc/site/python-reference.html",
    "doc/site/c/apply.html",
)
# A page beside the site, which opens a page of it in a frame of each width and writes down what it finds.
PROBE = """<!doctype html><body><pre id="found"></pre><script>
async function look(width) {
    const frame = document.createElement("iframe");
    frame.style = `border: 0; width: ${width}px; height: 900px`;
    frame.src = "PAGE";
    document.body.append(frame);
    await new Promise(done => frame.onload = done);
    const page = frame.contentDocument, root = page.documentElement;
    const results = () => page.querySelectorAll("#search-results li");
    for (const image of page.images) image.loading = "eager";
    for (let i = 0; i < 100 && ![...page.images].every(image => image.complete); i++)
        await new Promise(done => setTimeout(done, 100));
    for (let i = 0; i < 50 && location.search.includes("search.html") && results().length < 4; i++)
        await new Promise(done => setTimeout(done, 100));
    const wide = [...page.querySelectorAll("article *")].filter(e => e.getBoundingClientRect().right > width + 1 &&
        !e.closest(".table-wrapper, pre, .highlight")).map(e => e.outerHTML.slice(0, 80));
    return {width, scroll: root.scrollWidth, wide: wide.slice(0, 3), pictures: page.images.length,
            broken: [...page.images].filter(image => !image.naturalWidth).map(image => image.src),
            theme: page.querySelectorAll(".theme-toggle").length, found: results().length};
}
(async () => { found.textContent = JSON.stringify([await look(390), await look(1440)]); })();
</script>"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_GET(self):
        if not self.path.startswith("/probe?"):
            return super().do_GET()
        text = PROBE.replace("PAGE", "/" + self.path.split("?", 1)[1]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(text)


@unittest.skipUnless(CHROMIUM, "no Chromium here")
class InABrowser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.addClassCleanup(cls.server.shutdown)

    def look(self, page):
        """What the probe found at each width."""
        with tempfile.TemporaryDirectory() as profile:
            done = subprocess.run(
                [
                    CHROMIUM,
                    "--headless",
                    "--no-sandbox",
                    "--disable-gpu",
                    f"--user-data-dir={profile}",
                    "--window-size=1500,1000",
                    "--virtual-time-budget=60000",
                    "--dump-dom",
                    f"http://127.0.0.1:{self.server.server_port}/probe?{page}",
                ],
                capture_output=True,
                text=True,
                timeout=240,
            )
        found = re.search(r'<pre id="found">(\[.*?\])</pre>', done.stdout, re.S)
        self.assertTrue(found, f"{page}: {done.stdout[-500:]}{done.stderr[-500:]}")
        return json.loads(html.unescape(found[1]))

    def test_pages_fit_phones_and_desks(self):
        for page in PAGES:
            for seen in self.look(page):
                with self.subTest(page=page, width=seen["width"]):
                    self.assertLessEqual(seen["scroll"], seen["width"])
                    self.assertEqual(seen["wide"], [])
                    self.assertEqual(seen["broken"], [])
                    self.assertGreater(seen["theme"], 0)

    def test_the_gallery_shows_every_op_and_policy(self):
        source = pathlib.Path(__file__).resolve().parents[1]
        policies = len(list((source / "policy_files").rglob("*.yaml")))
        ops = len(re.findall(r"^\s+X\(", (source / "augmentations" / "ops.h").read_text(), re.M))
        for seen in self.look("doc/site/gallery.html"):
            self.assertGreaterEqual(seen["pictures"], 5 * policies + ops)

    def test_search_finds_an_op(self):
        for seen in self.look("search.html?q=solarize"):
            self.assertGreater(seen["found"], 3)


class Files(unittest.TestCase):
    def test_llms_txt_lists_every_page(self):
        listed = re.findall(r"^- \[.+\]\((.*)\): ", (site / "llms.txt").read_text(), re.M)
        pages = {str(path.relative_to(site)) for path in site.rglob("*.html") if "_static" not in path.parts}
        self.assertEqual(set(listed), pages - {"genindex.html", "search.html", "py-modindex.html"})


if __name__ == "__main__":
    site = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
