# SPDX-License-Identifier: Apache-2.0
"""The motley command: every subcommand, every kind of bad input, exit statuses, and files that are whole or absent.

MOTLEY is the command's path. Everything but the comparisons with Pillow runs on the standard library alone."""

import copy
import html
import json
import os
import pathlib
import pty
import re
import resource
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest

from image_bytes import chunk, exif, exif_segment, jpeg, pattern, png, read_png

try:
    import PIL.Image
    import PIL.ImageOps
except ImportError:
    PIL = None

MOTLEY = os.environ["MOTLEY"]
PROGRAM = pathlib.Path(MOTLEY).read_bytes()
SANITIZED = b"__asan_init" in PROGRAM or b"__tsan_init" in PROGRAM
COUNTED = b".gcda" in PROGRAM  # it writes how often its lines ran when it ends, and complains where it cannot


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="motley-test-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def file(self, name, data):
        path = self.dir / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return str(path)

    def image(self, name="a.png", width=40, height=30, channels=3):
        return self.file(name, png(width, height, channels, pattern(width, height, channels)))

    def path(self, name):
        return str(self.dir / name)

    def run_motley(self, *args, status=0, **options):
        """Runs the command; checks its status and that it wrote to stderr if, and only if, that is not 0."""
        done = subprocess.run([MOTLEY, *map(str, args)], capture_output=True, text=True, timeout=60, **options)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(bool(done.stderr), status != 0, done.stderr)
        return done

    def good(self, *args):
        return self.run_motley(*args).stdout

    def bad(self, *args, status=1):
        return self.run_motley(*args, status=status).stderr

    def read(self, name):
        return read_png((self.dir / name).read_bytes())

    def leftovers(self):
        return [p for p in self.dir.rglob("*") if ".motley-" in p.name]


class Listings(Case):
    def test_ops(self):
        names = [line.split()[0] for line in self.good("ops").splitlines()]
        rows = json.loads(self.good("ops", "--json"))
        self.assertEqual(names, [row["name"] for row in rows])
        rotate = next(row for row in rows if row["name"] == "rotate")
        self.assertEqual((rotate["shape"], rotate["neutral"], rotate["values_max"]), ("warp", 0, 1))
        self.assertIn("degrees", rotate["unit"])

    def test_policies(self):
        lines = self.good("policies").splitlines()
        rows = json.loads(self.good("policies", "--json"))
        self.assertEqual([line.split()[:2] for line in lines], [[row["name"], row["profile"]] for row in rows])
        self.assertIn("rand_augment", [row["name"] for row in rows])
        for row in rows:
            self.assertTrue(row["title"] and row["paper"] and row["max_steps"])

    def test_transforms(self):
        lines = self.good("transforms").splitlines()
        rows = json.loads(self.good("transforms", "--json"))
        self.assertEqual(
            [line.split()[:3] for line in lines],
            [[row["name"], row["profile"], str(row["views"] or f"{row['width']}x{row['height']}")] for row in rows],
        )
        steps = {row["name"]: row["max_steps"] for row in rows}
        self.assertEqual(steps["torchvision_eval"], 0)
        self.assertGreater(steps["deit3_train"], 0)
        for row in rows:
            self.assertTrue(row["title"])

    def test_show_is_a_policy_file_that_shows_the_same(self):
        for row in json.loads(self.good("policies", "--json")):
            text = self.good("show", row["name"])
            path = self.file(row["name"] + ".yaml", text)
            self.assertEqual(self.good("show", path), text)
            self.assertEqual(self.good("check", path), "")
            draws = ["--samples", "50", "--seed", "3"]
            self.assertEqual(self.good("draw", path, *draws), self.good("draw", row["name"], *draws))

    def test_show_with_changes(self):
        text = self.good(
            "show", "rand_augment", "--repeat", "3", "--level", "12", "--interpolation", "bicubic", "--fill", "1,2,3"
        )
        for line in ("repeat: 3", "level: 12", "interpolation: bicubic"):
            self.assertIn(f"\n{line}\n", text)
        self.assertRegex(text, r"\nfill: \[1, 2, 3, 255\]\n")
        normal = "timm_rand_m9_mstd05_inc1"
        self.assertIn("\nlevel: {normal: 7, std: 0.5}\n", self.good("show", normal, "--level", "7"))
        self.assertIn("level is 12, want 0..10", self.bad("show", normal, "--level", "12"))
        self.assertIn("has no bins to change", self.bad("show", normal, "--bins", "11"))
        fixed = """{"motley": 1, "name": "x", "top": 10, "branches": [{"op": "rotate", "value": 3}]}"""
        for level in "5", "given":
            self.assertIn("policy 'x' has a level: --level has no use", self.bad("show", fixed, "--level", level))
        steps = re.findall(r"op: (\w+).*?level: (\d+)}", self.good("show", "auto_augment_svhn", "--level", "2"))
        self.assertEqual({level for _, level in steps}, {"2"})
        self.assertIn("level is 4, want 0..2", self.bad("show", "auto_augment_svhn", "--bins", "3"))

    def test_schedules_by_epoch_and_length(self):
        text = self.good("show", "mobileone_train")
        path = self.file("m.yaml", text)
        self.assertEqual(self.good("show", path), text)
        plain = self.file("plain.yaml", self.good("show", path, "--epoch", "40"))
        self.assertIn("random_resized_crop: {size: 192}", pathlib.Path(plain).read_text())
        draws = ["--samples", "50", "--epoch", "40"]
        self.assertEqual(self.good("draw", path, *draws), self.good("draw", plain, *draws))
        self.good("apply", path, self.image("a.png", 60, 50), "--epoch", "40", "--out", self.path("out"))
        self.assertIn("level: {from: [[0, 2.1], [11, 4.9], [33, 7]]}", self.good("show", path, "--epochs", "90"))
        self.assertIn("want none of --epochs", self.bad("show", "rand_augment", "--epochs", "90"))

    def test_show_values_has_every_value(self):
        policy = json.loads(self.good("show", "--values", "rand_augment", "--level", "9"))
        branches = {b["steps"][0]["op"]: b for b in policy["phases"][0]["branches"]}
        self.assertEqual(policy["repeat"], [0, 0, 1])
        self.assertEqual(len(branches), 14)
        self.assertAlmostEqual(branches["rotate"]["chance"], 1 / 14)
        self.assertEqual(branches["rotate"]["steps"][0]["levels"], [{"level": 9, "value": 9, "minus": -9}])
        self.assertEqual(branches["posterize"]["steps"][0]["levels"], [{"level": 9, "value": 7}])

    def test_show_json_is_the_policy_again(self):
        for name in ("rand_augment", "simclr"):
            shown = self.good("show", "--json", name)
            self.assertEqual(json.loads(shown)["name"], name)
            self.assertEqual(self.good("show", self.file("same.json", shown)), self.good("show", name))
        changed = self.good("show", "--json", "rand_augment", "--level", "3")
        self.assertEqual(json.loads(changed)["level"], 3)
        shown = json.loads(
            self.good(
                "show",
                "--json",
                self.file(
                    "t.yaml",
                    "motley: 1\nname: t\nstages:\n  - resize: {size: [40, 40], filter: bicubic}\n"
                    "  - policy: {name: rand_augment, level: 4}\n  - jitter: {hue: 0.1}\n",
                ),
            )
        )
        self.assertEqual(
            shown,
            {
                "motley": 1,
                "name": "t",
                "stages": [
                    {"resize": {"size": [40, 40], "filter": "bicubic"}},
                    {"policy": {"name": "rand_augment", "level": 4}},
                    {"jitter": {"hue": [-0.1, 0.1]}},
                ],
            },
        )
        self.assertIn("it is a transform, want a policy for --values", self.bad("show", "--values", "simclr"))

    def test_stats_of_transforms_agree_with_the_draws(self):
        path = self.file(
            "t.yaml",
            "motley: 1\nname: t\nstages:\n  - random_resized_crop: {size: 40}\n"
            "  - flip: {horizontal: 0.5, vertical: 0.25}\n  - policy: trivial_augment_wide\n"
            "  - jitter: {p: 0.5, brightness: 0.4, hue: 0.1}\n  - output: {}\n  - erase: {p: 0.5}\n",
        )
        samples = ["--samples", "1500", "--seed", "5", "--epoch", "2", "--size", "90x60"]
        stats = json.loads(self.good("stats", "--json", path, *samples))
        self.assertEqual((stats["policy"], stats["samples"]), ("t", 1500))
        found = {}
        for draw in map(json.loads, self.good("draw", path, *samples).splitlines()):
            crop = draw["crop"]
            found.setdefault("crop: area", []).append(crop["width"] * crop["height"] / 5400)
            found.setdefault("crop: ratio", []).append(crop["width"] / crop["height"])
            for axis in (axis for axis, is_flipped in draw["flip"].items() if is_flipped):
                found.setdefault(f"flip: {axis}", []).append(None)
            for box in draw.get("erase", ()):
                found.setdefault("erase: area", []).append(box["width"] * box["height"] / 1600)
            for step in draw["steps"]:
                value = step.get("value")
                found.setdefault(step["op"], []).append(value[0] if isinstance(value, list) else value)
        rows = {row["op"]: row for row in stats["ops"]}
        self.assertEqual(set(rows), set(found))
        self.assertIn("hue", rows)
        for name, values in found.items():
            self.assertEqual(round(rows[name]["per_image"] * 1500), len(values), name)
            if values[0] is None:
                self.assertEqual(rows[name]["values"], [])
                continue
            drawn = rows[name]["drawn"]
            self.assertEqual((drawn["low"], drawn["high"]), (min(values), max(values)), name)
            self.assertAlmostEqual(drawn["mean"], sum(values) / len(values), msg=name)
        self.assertRegex(self.good("stats", path, *samples), r"\nflip: vertical +0\.2\d+  no value\n")
        table = self.good("compare", "torchvision_train", "timm_train", "--samples", "200")
        self.assertRegex(table, r"\nbrightness +- +[\d.]+\.\.[\d.]+, mean [\d.]+ \(x 1\.000\)\n")
        self.assertIn("it is a transform", self.bad("stats", "torchvision_train", "--level", "9"))

    def test_stats_agree_with_the_draws(self):
        samples = ["--samples", "2000", "--seed", "5", "--epoch", "2"]
        rows = json.loads(self.good("stats", "--json", "timm_rand_augment", *samples))["ops"]
        stats = {row["op"]: row for row in rows}
        counts, values = {}, {}
        for line in self.good("draw", "timm_rand_augment", *samples).splitlines():
            for step in json.loads(line)["steps"]:
                counts[step["op"]] = counts.get(step["op"], 0) + 1
                values.setdefault(step["op"], set()).add(step.get("value"))
        self.assertEqual({op: round(row["per_image"] * 2000) for op, row in stats.items()}, counts)
        self.assertEqual(
            values["rotate"], {v for row in stats["rotate"]["values"] for v in (row["value"], row["minus"])}
        )
        table = self.good("stats", "timm_rand_augment", *samples)
        self.assertRegex(table, r"\nrotate +0\.\d{4}  -30 or 30\n")

    def test_compare_shows_what_a_level_means(self):
        table = self.good("compare", "rand_augment", "tf_rand_augment", "--level", "9", "--samples", "100")
        self.assertRegex(table, r"\nrotate +-9 or 9 \(x 0\.\d+\) +-27 or 27 \(x 0\.\d+\)\n")
        self.assertRegex(table, r"\ninvert +- +no value ")
        both = json.loads(self.good("compare", "--json", "rand_augment", "tf_rand_augment", "--samples", "100"))
        self.assertEqual(list(both), ["rand_augment", "tf_rand_augment"])
        self.bad("compare", "rand_augment", status=2)
        self.bad("compare", "rand_augment", "tf_rand_augmen")

    def test_help_and_version(self):
        self.assertRegex(self.good("--version"), r"^motley \d+\.\d+\.\d+\n$")
        listed = re.findall(r"^  ([a-z]+) +[a-z]", self.good("--help").split("Commands:")[1], re.M)
        self.assertIn("apply", listed)
        for command in listed:
            self.assertIn(f"Usage: motley {command}", self.good(command, "--help"))


class Views(Case):
    """A transform with views gives the results of all, or of --only."""

    SHARED = """motley: 1
name: shared
stages:
  - random_resized_crop: {size: [30, 36], scale: [0.2, 1]}
  - grayscale: {p: 0.5}
"""
    V = "{random_crop: {size: 24}}, {flip: {vertical: 0.5}}, {output: {mean: 0.5, std: 0.5}}"
    W = "{jitter: {brightness: 0.5, hue: 0.1}}"
    VIEWS = SHARED + f"views:\n  - {{name: v, count: 2, stages: [{V}]}}\n  - {{name: w, stages: [{W}]}}\n"

    def rows(self, text):
        return [json.loads(line) for line in text.splitlines()]

    def images(self):
        return [self.image("a.png", 60, 50), self.image("b.png", 50, 40, 1), self.image("c.png", 33, 41, 4)]

    def test_one_of_them(self):
        self.assertIn("\n  - name: local\n    count: 8\n", self.good("show", "dino"))
        local = self.file("local.yaml", self.good("show", "dino", "--only", "local"))
        self.assertIn("random_resized_crop: {size: 96", pathlib.Path(local).read_text())
        for only, result, view in (("local:0", 0, 32), ("local:7", 7, 39)):
            rows = self.rows(self.good("draw", "dino", "--only", only, "-N", "20"))
            self.assertEqual(
                rows,
                [
                    {**row, "view": "local", "result": result}
                    for row in self.rows(self.good("draw", local, "-N", "20", "--view", view))
                ],
            )
        for only in "locale", "local:8", ":0", "local:", "local:abc", "local:-0", "local:1 ", "local: 1":
            self.assertIn("want one of its views", self.bad("draw", "dino", "--only", only))
        for command in "stats", "compare":
            self.assertIn("want --only", self.bad(command, "dino", *["dino"] * (command == "compare")))
            self.good(command, *["dino"] * (1 + (command == "compare")), "--only", "local:3", "-N", "50")
        self.assertIn("it has no views", self.bad("draw", "simclr_torchvision", "--only", "v"))
        self.assertIn("want a read of 0 to 255", self.bad("draw", "dino", "--view", "256", status=2))

    def test_draws_of_all(self):
        rows = self.rows(self.good("draw", "dino", "-N", "300", "-s", "3", "--first", "5"))
        names = [("global_1", 0), ("global_2", 0), *(("local", i) for i in range(8))]
        self.assertEqual(
            [(row["sample"], row["view"], row["result"]) for row in rows],
            [(id, *name) for id in range(5, 305) for name in names],
        )
        self.assertEqual(
            rows[3::10],
            self.rows(self.good("draw", "dino", "-N", "300", "-s", "3", "--first", "5", "--only", "local:1")),
        )

    def test_results_are_those_of_plain_files(self):
        """Shared stages as a file of their own, and each view as one for what that gives."""
        images, views = self.images(), self.file("views.yaml", self.VIEWS)
        self.assertEqual(self.good("show", views), self.good("show", self.file("again.yaml", self.good("show", views))))
        self.good("apply", views, *images, "--view", 2, "-s", 3, "-o", self.path("all"), "--sheet", self.path("s.png"))
        self.good(
            "apply",
            self.file("shared.yaml", self.SHARED),
            *images,
            "--view",
            2 * 256 + 240,
            "-s",
            3,
            "-o",
            self.path("shared"),
        )
        shared = [self.path(f"shared/{name}-0.png") for name in "abc"]
        for number, stages, result in (0, self.V, 0), (0, self.V, 1), (1, self.W, 0):
            name, out = "vw"[number], self.path(f"out-{number}-{result}")
            plain = self.file("plain.yaml", f"motley: 1\nname: shared\nstages: [{stages}]\n")
            self.good("apply", plain, *shared, "--view", 2 * 256 + 16 * number + result, "-s", 3, "-o", out)
            for image in "abc":
                self.assertEqual(
                    self.read(f"all/{image}-0-{name}-{result}.png"),
                    read_png((pathlib.Path(out) / f"{image}-0-0.png").read_bytes()),
                )
        self.assertEqual(len(list((self.dir / "all").iterdir())), 3 * 3)
        self.good("apply", views, *images, "--view", 2, "-s", 3, "--only", "v:1", "-o", self.path("one"))
        for image in "abc":
            self.assertEqual(self.read(f"one/{image}-0-v-1.png"), self.read(f"all/{image}-0-v-1.png"))

    def test_replay(self):
        images = self.images()
        for policy in self.file("views.yaml", self.VIEWS), "dino":
            first, again, draws = (self.path(f"{'own' if '/' in policy else policy}-{name}") for name in "abc")
            self.good("apply", policy, *images, "-k", 3, "-s", 6, "-o", first, "--draws", draws)
            self.good("apply", policy, *images, "-k", 3, "-o", again, "--replay", draws)
            names = sorted(path.name for path in pathlib.Path(first).iterdir())
            self.assertEqual(len(names), 3 * 3 * (10 if policy == "dino" else 3))
            for name in names:
                self.assertEqual((pathlib.Path(first) / name).read_bytes(), (pathlib.Path(again) / name).read_bytes())
        lines = pathlib.Path(draws).read_text().splitlines()
        short = self.file("short.jsonl", "\n".join(line for line in lines if '"result": 7' not in line))
        self.assertIn(
            "has no draw for sample 0 of view 'local'",
            self.bad("apply", "dino", *images, "-k", 3, "-o", again, "--replay", short),
        )
        twice = self.file("twice.jsonl", "\n".join([*lines, lines[2]]))
        self.assertIn(
            "sample 0 was given before, on line 3",
            self.bad("apply", "dino", *images, "-k", 3, "-o", again, "--replay", twice),
        )

    def test_boxes_go_through_what_is_shared(self):
        text = """{"motley": 1, "name": "x", "stages": [{"center_crop": {"size": 40}}], "views": [
            {"name": "v", "stages": [{"center_crop": {"size": 20}}, {"flip": {"horizontal": 1}}]},
            {"name": "w", "stages": [{"flip": {"vertical": 1}}]}]}"""
        image = self.image("a.png", 60, 50)
        boxes = self.file("boxes.jsonl", json.dumps({"image": image, "boxes": [[10, 5, 40, 25], [0, 0, 30, 10]]}))
        self.good("apply", text, image, "-o", self.path("out"), "--boxes", boxes, "--boxes-out", self.path("out.jsonl"))
        v, w = self.rows((self.dir / "out.jsonl").read_text())
        self.assertEqual((v["image"], v["size"]), (self.path("out/a-0-v-0.png"), [20, 20]))
        self.assertEqual(v["boxes"], [[0, 0, 20, 10]])
        self.assertAlmostEqual(v["visibility"][0], 20 * 10 / (30 * 20), 12)
        self.assertEqual((w["size"], w["boxes"]), ([40, 40], [[0, 20, 30, 40], [0, 35, 20, 40]]))
        self.good("preview", text, image, "--boxes", boxes, "-k", 1, "-N", 50, "-o", self.path("page.html"))
        page = (self.dir / "page.html").read_text()
        self.assertIn('<rect class="box0" x="0.00" y="0.00" width="20.00" height="10.00"/></svg>', page)
        self.assertIn('<rect class="box0" x="0.00" y="20.00" width="30.00" height="20.00"/><rect', page)

    def test_preview_shows_all(self):
        path, mask = self.path("page.html"), self.image("mask.png", 60, 50, 1)
        args = self.file("views.yaml", self.VIEWS), self.image("a.png", 60, 50), "-k", 2, "-N", 50, "--mask", mask
        self.good("preview", *args, "-o", path)
        page = (self.dir / "page.html").read_text()
        self.assertEqual(page.count("<figure>"), 1 + 2 * 3)
        self.assertEqual(page.count('class="mask"'), 1 + 2 * 3)
        for caption in "v 0", "v 1", "w 0":
            self.assertEqual(page.count(f'<span class="step">{caption}</span>'), 2)
        self.assertEqual(re.findall("<h3>(.*)</h3>", page), ["shared by the views", "v", "w"])
        for only in "v:0", "v:1", "w":  # each is shown as if it were alone
            self.good("preview", *args, "-o", path, "--only", only)
            figures = re.findall("<figure>.*</figure>", (self.dir / "page.html").read_text())
            self.assertEqual(len([figure for figure in figures if figure in page]), 1 + 2)


class Preview(Case):
    def page(self, *args):
        path = self.path("page.html")
        self.good("preview", *args, "-o", path, "--samples", "500")
        return pathlib.Path(path).read_text(encoding="utf-8")

    def test_the_page_is_complete_in_itself(self):
        page = self.page("rand_augment", self.image("a.png"), self.image("b.png", 30, 40, 1), "--variants", "3")
        self.assertNotRegex(page, r"(src|href)=\"(?!data:)")
        self.assertNotIn("http", page)
        self.assertEqual(page.count('src="data:image/png;base64,'), 2 * (1 + 3) + 11 * 2)
        self.assertEqual(page.count('class="row stop"'), 11)
        self.assertIn("Cubuk, Zoph, Shlens, Le 2019, arXiv:1909.13719", page)
        self.assertIn("repeat: 2\n", page)
        for op in ("rotate", "equalize", "posterize"):
            self.assertRegex(page, rf"<td>{op}</td><td class=\"number\">0\.\d+</td>")
        drawn = [
            json.loads(line)
            for line in self.good("draw", "rand_augment", "--samples", "3", "--size", "40x30").splitlines()
        ]
        for step in (step for sample in drawn for step in sample["steps"]):
            self.assertIn(f'<span class="step">{step["op"]}', page)

    def test_a_stop_of_the_slider_for_each_bin(self):
        for policy, levels in (
            ("auto_augment_svhn", range(10)),
            ("augmix", range(10)),
            ("rand_augment", range(0, 31, 3)),
        ):
            page = self.page(policy, self.image(), "--variants", "1")
            self.assertEqual(re.findall('data-level="(.*?)"', page), [str(level) for level in levels])

    def test_chains_that_are_mixed(self):
        image, policy = self.image(), "timm_augmix"
        page = self.page(policy, image, "--variants", "2", "--samples", "500")
        for row in map(json.loads, self.good("draw", policy, "-N", "2", "--size", "40x30").splitlines()):
            self.assertEqual([step["op"] for step in row["steps"]].count("mix_add"), 3)
            self.assertEqual(row["steps"][-1]["op"], "mix_sum")
            self.assertIn(f'<span class="step">mix_sum {row["steps"][-1]["value"]:.4g}</span>', page)
        rows = json.loads(self.good("stats", "--json", policy, "-N", "500"))["ops"]
        stats = {row["op"]: row["per_image"] for row in rows}
        self.assertEqual(len(stats), 13)
        self.assertAlmostEqual(sum(stats.values()), 6, delta=0.2)  # three chains of two ops on average
        boxes = self.file("boxes.jsonl", json.dumps({"image": image, "boxes": [[4, 5, 14, 25]]}) + "\n")
        self.assertIn("mixes 3 chains", self.bad("preview", policy, image, "-o", self.path("x"), "--boxes", boxes))
        self.assertFalse((self.dir / "x").exists())
        self.assertEqual(self.leftovers(), [])

    def test_boxes_and_masks_follow(self):
        policy = self.file("mirror.yaml", "motley: 1\nname: mirror\nbranches: [flip_lr]\n")
        image, mask = self.image(), self.file("mask.png", png(40, 30, 1, bytes(1200)))
        boxes = self.file("boxes.jsonl", json.dumps({"image": image, "boxes": [[4, 5, 14, 25]]}) + "\n")
        page = self.page(policy, image, "--variants", "1", "--mask", mask, "--boxes", boxes)
        self.assertIn('<rect class="box0" x="4.00" y="5.00" width="10.00" height="20.00"/>', page)
        self.assertIn('<rect class="box0" x="26.00" y="5.00" width="10.00" height="20.00"/>', page)
        self.assertEqual(page.count('class="mask"'), 2)
        self.assertNotIn('id="level"', page.split("<script>")[0])

    def test_boxes_of_a_detection_recipe(self):
        """Before and after, as `apply --boxes-out` writes them, with their labels and each in its colour."""
        image, labels = self.image("a.png", 60, 50), ["a <cat>", 7, "dog"]
        text = self.file("r.yaml", self.good("show", "dfine_l").replace("640, 640", "48, 40"))
        line = {"image": image, "boxes": [[4, 5, 34, 25], [30, 20, 55, 45], [1, 1, 9, 9]], "labels": labels}
        boxes = self.file("boxes.jsonl", json.dumps(line) + "\n")
        page = self.page(text, image, "--variants", "6", "--boxes", boxes)
        out = "-k", "6", "-o", self.path("out"), "--boxes", boxes, "--boxes-out", self.path("out.jsonl")
        self.good("apply", text, image, *out)
        before, *after = re.findall('<svg class="boxes" viewBox="0 0 (.*?) (.*?)" .*?>(.*?)</svg>', page)
        self.assertEqual((before[:2], before[2].count("<rect")), (("60", "50"), 3))
        self.assertIn('<rect class="box1" x="30.00" y="20.00" width="25.00" height="25.00"/>', before[2])
        self.assertIn(">a &lt;cat&gt;</text>", before[2])
        rows = [json.loads(row) for row in (self.dir / "out.jsonl").read_text().splitlines()]
        self.assertEqual(len(after), 6)
        for (*size, drawn), row in zip(after, rows, strict=True):
            self.assertEqual(size, ["40", "48"])
            self.assertEqual(re.findall("<text.*?>(.*?)</text>", drawn), [html.escape(str(x)) for x in row["labels"]])
            for left, top, right, bottom in row["boxes"]:
                place = f'x="{left:.2f}" y="{top:.2f}" width="{right - left:.2f}" height="{bottom - top:.2f}"'
                self.assertIn(place, drawn)
            colours = [f"box{labels.index(label)}" for label in row["labels"]]
            self.assertEqual(re.findall('class="(.*?)"', drawn), colours)
        self.assertTrue(any(len(row["labels"]) < 3 for row in rows))

    def test_transforms(self):
        path = self.file(
            "t.yaml",
            'motley: 1\nname: t\ntitle: "A recipe"\nstages:\n'
            "  - center_crop: {size: [20, 30]}\n  - flip: {horizontal: 1}\n  - policy: rand_augment\n"
            "  - output: {mean: 0.5, std: 0.5}\n  - erase: {p: 1}\n",
        )
        image = self.image()
        page = self.page(path, image, "--variants", "3")
        self.assertIn("<h1>A recipe</h1>", page)
        self.assertEqual(page.count('src="data:image/png;base64,'), 1 + 3)
        self.assertEqual(page.count('<span class="step">crop 40x30 at 0, 0</span>'), 3)
        self.assertEqual(page.count('<span class="step">flip horizontal</span>'), 3)
        self.assertIn("<h2>Transform</h2>\n<pre>" + self.good("show", path) + "</pre>", page)
        for draw in map(json.loads, self.good("draw", path, "--samples", "3", "--size", "40x30").splitlines()):
            for step in draw["steps"]:
                self.assertIn(f'<span class="step">{step["op"]}', page)
            (box,) = draw["erase"]
            self.assertIn(
                '<rect class="erased" x="{left}" y="{top}" width="{width}" height="{height}"/>'.format(**box), page
            )
        self.assertNotIn('id="level"', page.split("<script>")[0])
        mirror = self.file(
            "m.yaml",
            "motley: 1\nname: m\nstages:\n  - center_crop: {size: [20, 30]}\n"
            "  - flip: {horizontal: 1}\n  - output: {}\n",
        )
        mask = self.file("mask.png", png(40, 30, 1, bytes(1200)))
        boxes = self.file("boxes.jsonl", json.dumps({"image": image, "boxes": [[7, 8, 17, 18]]}) + "\n")
        page = self.page(mirror, image, "--variants", "1", "--mask", mask, "--boxes", boxes)
        for size, place in ("40 30", 'x="7.00" y="8.00"'), ("30 20", 'x="18.00" y="3.00"'):
            box = f'<rect class="box0" {place} width="10.00"'
            self.assertIn(f'viewBox="0 0 {size}" preserveAspectRatio="none">{box}', page)
        self.assertEqual(page.count('class="mask"'), 2)

    def test_bad_input(self):
        image, out = self.image(), self.path("page.html")
        small = self.file("small.png", png(3, 3, 1, bytes(9)))
        wrong = self.file("boxes.jsonl", "[]\n")
        self.assertIn(
            "the mask is 3 x 3 with 1 channels", self.bad("preview", "rand_augment", image, "-o", out, "--mask", small)
        )
        self.assertIn("boxes.jsonl:1: want", self.bad("preview", "rand_augment", image, "-o", out, "--boxes", wrong))
        for row, words in (
            ({"image": None, "boxes": []}, "want {"),
            ({"image": image, "boxes": [[1, 2, 3]]}, "box 0 is not a list of 4 numbers"),
            ({"image": image, "boxes": [[1, 2, 3, 4], [1, 2, "3", 4]]}, "box 1 is not a list of 4 numbers"),
        ):
            wrong = self.file("boxes.jsonl", json.dumps(row) + "\n")
            self.assertIn(
                "boxes.jsonl:1: " + words, self.bad("preview", "rand_augment", image, "-o", out, "--boxes", wrong)
            )
        wrong = self.file("boxes.jsonl", json.dumps({"image": "other.png", "boxes": []}) + "\n")
        self.assertIn(
            f"no line is for {image}", self.bad("preview", "rand_augment", image, "-o", out, "--boxes", wrong)
        )
        self.assertIn(
            "1 masks are given for 2 images",
            self.bad("preview", "rand_augment", image, image, "-o", out, "--mask", small, status=2),
        )
        self.bad("preview", "rand_augment", image, status=2)
        self.bad("preview", "rand_augment", self.path("none.png"), "-o", out)
        before = pathlib.Path(image).read_bytes()
        self.bad("preview", "rand_augment", image, "-o", image)
        self.assertEqual(pathlib.Path(image).read_bytes(), before)
        large = '{"motley": 1, "name": "large", "stages": [{"random_crop": {"size": 64}}]}'
        self.assertIn("motley: <policy>: image 0: 40x30", self.bad("preview", large, image, "-o", out))
        self.assertFalse(pathlib.Path(out).exists())
        self.assertEqual(self.leftovers(), [])

    @unittest.skipUnless(shutil.which("chromium"), "chromium is not here")
    def test_a_browser_shows_it_light_and_dark(self):
        self.page("rand_augment", self.image("a.png", 200, 150))
        corners = []
        for dark in (0, 1):
            shot = self.path(f"shot{dark}.png")
            subprocess.run(
                [
                    "chromium",
                    "--headless",
                    "--no-sandbox",
                    "--disable-gpu",
                    "--hide-scrollbars",
                    f"--blink-settings=preferredColorScheme={1 - dark}",
                    "--window-size=900,1200",
                    f"--user-data-dir={self.path('browser')}",
                    f"--screenshot={shot}",
                    "file://" + self.path("page.html"),
                ],
                check=True,
                capture_output=True,
                timeout=60,
            )
            width, height, channels, pixels = read_png(pathlib.Path(shot).read_bytes())
            corners.append(sum(pixels[:3]) // 3)
            colours = {bytes(pixels[i : i + channels]) for i in range(0, len(pixels), 97 * channels)}
            self.assertGreater(len(colours), 100, "the page shows no pictures")
        self.assertGreater(corners[0], 200)
        self.assertLess(corners[1], 60)


class Check(Case):
    def test_every_problem_of_every_file_with_its_place(self):
        good = self.file("good.yaml", self.good("show", "rand_augment"))
        text = pathlib.Path(good).read_text()
        text = text.replace("profile: torchvision", "profile: torchvison").replace("bins: 31", "bins: x")
        lines = text.replace("  - solarize\n", "  - solarise\n").splitlines()
        first = self.file("first.yaml", "\n".join(lines) + "\n")
        second = self.file("second.yaml", "motley: 1\nname: [\n")
        errors = self.bad("check", first, good, second, self.path("absent.yaml")).splitlines()
        places = [re.match(r"(.*):(\d+):(\d+): error: \S", line) for line in errors]
        at_first = [int(m[2]) for m in places if m and m[1] == first]
        wanted = [1 + lines.index(line) for line in ("profile: torchvison", "bins: x", "  - solarise")]
        self.assertEqual([line for line in wanted if line in at_first], wanted, errors)
        self.assertTrue(any(m and m[1] == second for m in places), errors)
        self.assertFalse(any(m and m[1] == good for m in places), errors)
        self.assertTrue(any("absent.yaml: " in line and "No such file" in line for line in errors), errors)
        self.assertIn("'solarize'", "\n".join(errors))

    def test_check_takes_names_where_there_is_no_file(self):
        self.assertEqual(self.good("check", "rand_augment", "timm:rand-m9"), "")
        self.assertEqual(
            self.bad("check", "rand_augmen"),
            "motley: there is no file 'rand_augmen', and no policy 'rand_augmen' is built in, did you mean "
            "'rand_augment'?\n",
        )

    def test_check_says_what_needs_three_colours(self):
        for name, bands, steps in (
            ("trivial_augment_wide", "13", ["color"]),
            ("trivial_augment_wide", "3", []),
            ("trivial_augment_bands", "13", []),
            ("moco_v2", "13", ["view: hue", "view: color", "view: grayscale"]),
        ):
            said = [
                f"{name}: {step} needs three colours, and leaves images of {bands} bands as they are" for step in steps
            ]
            self.assertEqual(self.good("check", "--bands", bands, name).splitlines(), said)

    def test_a_policy_file_with_mistakes_stops_draw_and_apply(self):
        path = self.file("p.yaml", "motley: 1\nname: p\nbogus: 1\n")
        for args in (["draw", path], ["apply", path, self.image(), "--out", self.path("out")], ["show", path]):
            self.assertIn(f"{path}:3:1: error: ", self.bad(*args))
        self.assertFalse((self.dir / "out").exists())


class Draw(Case):
    def draws(self, *args):
        return [json.loads(line) for line in self.good("draw", *args).splitlines()]

    def test_lines_are_json_in_the_order_of_samples(self):
        rows = self.draws("rand_augment", "--samples", "2000", "--seed", "5", "--epoch", "2", "--size", "64x48")
        self.assertEqual([row["sample"] for row in rows], list(range(2000)))
        shapes = {op["name"]: op for op in json.loads(self.good("ops", "--json"))}
        for row in rows:
            self.assertLessEqual(len(row["steps"]), 2)
            for step in row["steps"]:
                op = shapes[step["op"]]
                self.assertEqual("value" in step, op["values_max"] > 0)
                self.assertEqual("interpolation" in step, op["shape"] == "warp")
                self.assertEqual("fill" in step, op["shape"] in ("warp", "erase"))
        self.assertIn(
            {"op": "rotate", "level": 0, "value": -9.0, "interpolation": "nearest", "fill": [0, 0, 0], "applied": True},
            [step for row in rows for step in row["steps"]],
        )

    def test_values_read_back_as_the_same_doubles(self):
        text = self.good("draw", "trivial_augment_wide", "--samples", "500")
        numbers = re.findall(r'"op": "(\w+)", "level": \d+, "value": ([^,} ]+)', text)
        self.assertGreater(len(set(numbers)), 100)
        for op, number in numbers:
            value = float(number)
            self.assertEqual(number, repr(value))  # repr is the shortest that reads back
            if op in ("brightness", "color", "contrast", "sharpness"):  # 1 + an entry of a table in binary32
                self.assertEqual(struct.unpack("f", struct.pack("f", value - 1))[0], value - 1)

    def test_a_cutout_has_its_centre(self):
        head = self.good("show", "rand_augment").split("ops:\n")[0].replace("repeat: 2", "repeat: 1")
        path = self.file("p.yaml", head + "ops:\n  cutout: {range: [10, 40]}\nbranches:\n  - cutout\n")
        for row in self.draws(path, "--samples", "20", "--size", "64x48"):
            (step,) = row["steps"]
            self.assertEqual(len(step["center"]), 2)
            self.assertTrue(0 <= step["center"][0] <= 64 and 0 <= step["center"][1] <= 48)

    def test_a_draw_depends_on_seed_epoch_and_sample_alone(self):
        whole = self.draws("rand_augment", "--samples", "40", "--seed", "9")
        parts = [
            row
            for first in (0, 10, 20, 30)
            for row in self.draws("rand_augment", "--samples", "10", "--seed", "9", "--first", str(first))
        ]
        self.assertEqual(whole, parts)
        self.assertNotEqual(whole, self.draws("rand_augment", "--samples", "40", "--seed", "10"))
        self.assertNotEqual(whole, self.draws("rand_augment", "--samples", "40", "--seed", "9", "--epoch", "1"))
        self.assertNotEqual(whole, self.draws("rand_augment", "--samples", "40", "--seed", "9", "--view", "1"))
        self.assertEqual(whole, self.draws("rand_augment", "--samples", "40", "--seed", "9", "--view", "0"))

    def test_given_levels_are_a_number_or_a_line_for_each_sample(self):
        given = ["rand_augment", "--level", "given", "--samples", "6", "--seed", "2"]
        at = {level: self.draws("rand_augment", "--level", level, "--samples", "6", "--seed", "2") for level in (0, 15)}

        def alike(row, fixed, level):
            self.assertTrue(all(step.pop("level") in (0, level) for step in row["steps"]))  # 0: an op without levels
            for step in fixed["steps"]:
                step.pop("level")
            self.assertEqual(row, fixed)

        for row, fixed in zip(self.draws(*given, "--levels", "0.5"), copy.deepcopy(at[15])):
            alike(row, fixed, 15)
        lines = self.file("levels.txt", "0.5\n0\n")
        rows = self.draws(*given, "--levels", lines)
        self.assertEqual(
            rows[3:], self.draws(*given[:3], "--first", "3", "--samples", "3", "--seed", "2", "--levels", lines)
        )
        for i, row in enumerate(rows):
            alike(row, at[15 * (i % 2 == 0)][i], 15)
        path, draws = self.image("a.png", 60, 50), self.path("d.jsonl")
        policy = self.file("given.yaml", self.good("show", "rand_augment", "--level", "given"))
        self.good(
            "apply", policy, path, "--levels", lines, "--variants", "2", "--out", self.path("new"), "--draws", draws
        )
        self.good(
            "apply", policy, path, "--replay", draws, "--variants", "2", "--out", self.path("again"), "--levels", "1"
        )
        for name in ("a-0.png", "a-1.png"):
            self.assertEqual(self.read(f"new/{name}"), self.read(f"again/{name}"))
        whole = self.file("whole.yaml", "motley: 1\nname: x\nstages: [{policy: {name: rand_augment, level: given}}]\n")
        self.good("apply", whole, path, "--levels", "0.5", "--out", self.path("whole"), "--variants", "1")
        self.good("apply", policy, path, "--levels", "0.5", "--out", self.path("plain"), "--variants", "1")
        self.assertEqual(self.read("whole/a-0.png"), self.read("plain/a-0.png"))
        self.good("stats", policy, "--levels", lines, "--samples", "100")
        self.assertIn("want levels, a number from 0 to 1", self.bad("draw", policy))
        self.assertIn("--levels has no use", self.bad("draw", "rand_augment", "--levels", "0.5"))
        self.bad("draw", policy, "--levels", "1.5", status=2)
        self.assertIn(
            "line 2 is 'x', want a number", self.bad("draw", policy, "--levels", self.file("bad.txt", "0.5\nx\n"))
        )
        for text in ("0.5\n\n1\n", "0.5\n \t\n1\n", "0.5\r\n\r\n1\r\n"):  # the lines behind would shift
            self.assertRegex(
                self.bad("draw", policy, "--levels", self.file("empty.txt", text)), "line 2 is '.*', want a number"
            )

    def test_transforms_say_where_their_pixels_come_from(self):
        rows = self.draws("torchvision_train_convnext", "--samples", "50", "--size", "300x200", "--seed", "3")
        for row in rows:
            crop = row["crop"]
            self.assertLessEqual(crop["left"] + crop["width"], 300)
            self.assertLessEqual(crop["top"] + crop["height"], 200)
            self.assertEqual(row["resize"], {"width": 176, "height": 176, "filter": "bilinear"})
            self.assertLessEqual(len(row["steps"]), 1)
        self.assertEqual({row["flip"]["horizontal"] for row in rows}, {True, False})
        self.assertTrue(0 < sum("erase" in row for row in rows) < 20)
        self.assertEqual(
            self.draws("torchvision_train_convnext", "--first", "7", "--size", "300x200", "--seed", "3"), rows[7:8]
        )
        for options in (["--level", "3"], ["--repeat", "2"], ["--fill", "1,2,3"]):
            self.assertIn(
                "it is a transform, whose policies are changed in its file", self.bad("draw", "simclr", *options)
            )

    def test_size_and_channels(self):
        def found(*args):
            return {
                step["value"]: step["fill"]
                for row in self.draws("rand_augment", "-N", "200", *args)
                for step in row["steps"]
                if step["op"] == "translate_x"
            }

        self.assertEqual(set(found("--size", "100x10")), {13.0, -13.0})
        self.assertEqual(set(map(tuple, found("--channels", "1", "--fill", "7").values())), {(7,)})
        self.assertEqual(set(map(tuple, found("--channels", "4", "--fill", "7,8,9").values())), {(7, 8, 9, 255)})


class Apply(Case):
    def apply(self, out, *args):
        self.good("apply", "rand_augment", *args, "--seed", "4", "--out", self.path(out))
        return {p.name: p.read_bytes() for p in (self.dir / out).iterdir()}

    def test_same_bytes_whatever_the_threads_and_the_grouping(self):
        images = [self.image(f"{i}.png", 30 + 7 * i, 20 + i, channels) for i, channels in enumerate((3, 1, 3, 4, 2))]
        one = self.apply("one", *images, "--variants", "3", "--threads", "1")
        self.assertEqual(sorted(one), sorted(f"{i}-{k}.png" for i in range(5) for k in range(3)))
        self.assertEqual(one, self.apply("two", *images, "--variants", "3", "--threads", "2"))
        self.assertEqual(one, self.apply("reference", *images, "--variants", "3", "--device", "reference"))
        again = self.apply("again", *[path for path in images for _ in range(3)])
        for i in range(5):
            for k in range(3):
                self.assertEqual(one[f"{i}-{k}.png"], again[f"{i}-i{3 * i + k}-0.png"])
        self.assertNotEqual(one, self.apply("epoch", *images, "--variants", "3", "--epoch", "1"))

    def test_draws_tell_what_was_done(self):
        images = [self.image("a.png"), self.image("b.png", 50, 20)]
        self.good(
            "apply",
            "trivial_augment_wide",
            *images,
            "-k",
            "4",
            "-s",
            "6",
            "-o",
            self.path("out"),
            "--draws",
            self.path("d.jsonl"),
        )
        rows = [json.loads(line) for line in (self.dir / "d.jsonl").read_text().splitlines()]
        self.assertEqual([row["sample"] for row in rows], list(range(8)))
        sizes = {images[0]: "40x30", images[1]: "50x20"}
        for row in rows:
            drawn = json.loads(
                self.good(
                    "draw",
                    "trivial_augment_wide",
                    "--first",
                    row["sample"],
                    "--seed",
                    "6",
                    "--size",
                    sizes[row["image"]],
                )
            )
            self.assertEqual(drawn["steps"], row["steps"])
            (step,) = row["steps"]
            value = [step["value"]] if "value" in step else []
            self.good("op", step["op"], *value, row["image"], self.path("one.png"))
            self.assertEqual(self.read("one.png"), self.read(row["out"]))

    @unittest.skipUnless(PIL, "needs Pillow")
    def test_transforms_crop_and_resize(self):
        images = [self.image("a.png"), self.image("b.png", 50, 20), self.image("c.png", 20, 70, 1)]
        text = """{"motley": 1, "name": "mine", "stages": [
            {"random_resized_crop": {"size": [24, 32], "filter": "bicubic", "order": "pillow-12"}},
            {"flip": {"horizontal": 0.5}}, %s {"output": {}}, {"erase": {"p": 0.5}}]}"""
        policy = self.file("mine.json", text % '{"policy": "trivial_augment_wide"}, {"jitter": {"hue": 0.5}},')
        self.good(
            "apply",
            policy,
            *images,
            "-k",
            "3",
            "-s",
            "6",
            "-o",
            self.path("out"),
            "--draws",
            self.path("d.jsonl"),
            "--sheet",
            self.path("sheet.png"),
        )
        rows = [json.loads(line) for line in (self.dir / "d.jsonl").read_text().splitlines()]
        self.assertEqual([row["sample"] for row in rows], list(range(9)))
        for row in rows:
            with PIL.Image.open(row["out"]) as image:
                self.assertEqual(image.size, (32, 24))
            self.assertTrue(row["steps"][-1]["op"] == "hue" and row["policy"] == "mine")
        self.good(
            "apply",
            self.file("crop.json", text % ""),
            *images,
            "-k",
            "3",
            "-s",
            "6",
            "-o",
            self.path("plain"),
            "--draws",
            self.path("p.jsonl"),
        )
        for row in map(json.loads, (self.dir / "p.jsonl").read_text().splitlines()):
            self.assertEqual(row["crop"], rows[row["sample"]]["crop"])
            with PIL.Image.open(row["image"]) as image, PIL.Image.open(row["out"]) as made:
                c = row["crop"]
                image = image.crop((c["left"], c["top"], c["left"] + c["width"], c["top"] + c["height"]))
                image = image.resize((32, 24), PIL.Image.BICUBIC)
                image = image.transpose(PIL.Image.FLIP_LEFT_RIGHT) if row["flip"]["horizontal"] else image
                if int(PIL.__version__.split(".")[0]) < 12:  # whose order of passes the file names
                    self.assertEqual(image.tobytes(), made.tobytes())
        self.assertIn(
            "want --device cpu", self.bad("apply", policy, images[0], "-o", self.path("not"), "--device", "cuda")
        )
        self.assertFalse((self.dir / "not").exists())

    @unittest.skipUnless(PIL, "needs Pillow")
    def test_images_of_any_channels_become_rgb(self):
        images = [self.image(f"{channels}.png", 40 + channels, 30, channels) for channels in (1, 2, 3, 4)]
        text = """{"motley": 1, "name": "mixed", "stages": [%s {"flip": {"horizontal": 0.5}},
            {"policy": {"name": "rand_augment", "fill": [200, 30, 90]}}]}"""
        converted = [self.path(f"rgb{path[-5]}.png") for path in images]
        for path, rgb in zip(images, converted):
            with PIL.Image.open(path) as image:
                image.convert("RGB").save(rgb)
        mixed = text % '{"to_rgb": {}},'
        for policy, paths, name in (mixed, images, "mixed"), (text % "", converted, "wanted"):
            self.good("apply", policy, *paths, "-k", "3", "-o", self.path(name), "--draws", self.path(name + ".jsonl"))
        found, wanted = (self.rows(name + ".jsonl") for name in ("mixed", "wanted"))
        self.assertEqual([row["steps"] for row in found], [row["steps"] for row in wanted])
        self.good("apply", mixed, *images, "-k", "3", "-o", self.path("again"), "--replay", self.path("mixed.jsonl"))
        for a, b in zip(found, wanted):
            self.assertEqual(self.read(a["out"]), self.read(b["out"]))
            self.assertEqual(self.read(a["out"]), self.read(a["out"].replace("/mixed/", "/again/")))
        self.assertEqual(self.good("draw", mixed, "-N", "30", "-C", "1"), self.good("draw", text % "", "-N", "30"))
        self.good("preview", mixed, *images, "-o", self.path("page.html"))

    def test_texts_in_place_of_names(self):
        for name in "rand_augment", "torchvision_train_v2":
            text = self.good("show", name)
            self.assertEqual(self.good("show", text), text)
            self.assertEqual(self.good("draw", text, "-N", "9"), self.good("draw", name, "-N", "9"))
        self.assertEqual(self.bad("show", text, "--level", "9").split(", ")[0], "motley: <policy>: it is a transform")
        self.assertTrue(self.bad("show", text.replace("176", "0")).startswith("<policy>:9:"))
        self.assertEqual(
            self.bad("show", self.good("show", "rand_augment"), "--level", "99"),
            "motley: <policy>: level is 99, want 0..30\n",
        )
        table = self.good("compare", self.good("show", "rand_augment"), "rand_augment", "-N", "9")
        self.assertEqual(table.split()[:3], ["op", "<policy>", "rand_augment"])

    def test_replay_gives_the_same_files(self):
        images = [self.image("a.png"), self.image("b.png", 50, 20, 1), self.image("c.png", 33, 41, 4)]
        for policy in "rand_augment", "tf_rand_augment", "timm_rand_augment", "timm_augmix", "timm_train", "simclr":
            first, again, draws = (self.path(f"{policy}-{name}") for name in ("first", "again", "draws"))
            self.good("apply", policy, *images, "-k", "5", "-s", "6", "-o", first, "--draws", draws)
            self.good("apply", policy, *images, "-k", "5", "-o", again, "--replay", draws, "--draws", f"{draws}-2")
            for path in pathlib.Path(first).iterdir():
                self.assertEqual(path.read_bytes(), (pathlib.Path(again) / path.name).read_bytes(), path)
            rows, rows2 = (
                [
                    {k: v for k, v in json.loads(line).items() if k != "out"}
                    for line in pathlib.Path(path).read_text().splitlines()
                ]
                for path in (draws, f"{draws}-2")
            )
            self.assertEqual(rows, rows2)
            self.assertEqual([row["size"] for row in rows[::5]], [[40, 30], [50, 20], [33, 41]])
            self.assertEqual({row["policy"] for row in rows}, {policy})

    def test_replay_of_a_transform_that_erases(self):
        """Its draws have the boxes, though what apply writes is not erased."""
        text = """{"motley": 1, "name": "m", "stages": [
            {"random_resized_crop": {"size": 24}}, {"output": {}}, {"erase": {}}]}"""
        image, draws = self.image(), self.path("draws")
        self.good("apply", text, image, "-k", "3", "-o", self.path("first"), "--draws", draws)
        self.assertTrue(all(row["erase"] for row in self.rows("draws")))
        self.good("apply", text, image, "-k", "3", "-o", self.path("again"), "--replay", draws)
        for k in range(3):
            self.assertEqual(self.read(f"first/a-{k}.png"), self.read(f"again/a-{k}.png"))

    def boxes(self, **rows):
        """A file of boxes: image=[boxes] or image=([boxes], [labels])."""
        lines = []
        for name, row in rows.items():
            row = row if isinstance(row, tuple) else (row,)
            lines.append(json.dumps(dict(zip(("boxes", "labels"), row), image=self.path(f"{name}.png"))))
        return self.file("boxes.jsonl", "".join(f"{line}\n\n" for line in lines))

    def rows(self, name):
        return [json.loads(line) for line in (self.dir / name).read_text().splitlines()]

    def test_boxes_follow(self):
        policy = self.file("m.yaml", "motley: 1\nname: m\nbranches: [{op: translate_x, value: 20}]\nfill: 9\n")
        images = [self.image("a.png"), self.image("b.png", 60, 20, 1)]
        boxes = self.boxes(
            a=([[4, 5, 14.5, 25], [30, 0, 40, 30], [15, 1, 25, 9]], ["cat", {"id": 2}, 7]), b=[], unused=[[1, 2, 3, 4]]
        )
        self.good(
            "apply",
            policy,
            *images,
            "-k",
            2,
            "-o",
            self.path("out"),
            "--boxes",
            boxes,
            "--boxes-out",
            self.path("out.jsonl"),
        )
        first, again, empty, _ = self.rows("out.jsonl")
        self.assertEqual(
            first,
            {
                "image": self.path("out/a-0.png"),
                "size": [40, 30],
                "labels": ["cat", 7],
                "boxes": [[24, 5, 34.5, 25], [35, 1, 40, 9]],
                "visibility": [1, 0.5],
            },
        )
        self.assertEqual(again, {**first, "image": self.path("out/a-1.png")})
        self.assertEqual(empty, {"image": self.path("out/b-0.png"), "size": [60, 20], "boxes": [], "visibility": []})
        # what came out goes in again, and replayed draws move boxes alike
        self.good(
            "apply",
            policy,
            *(row["image"] for row in (first, empty)),
            "-o",
            self.path("more"),
            "--boxes",
            self.path("out.jsonl"),
            "--boxes-out",
            self.path("more.jsonl"),
            "--draws",
            self.path("draws.jsonl"),
        )
        self.assertEqual(self.rows("more.jsonl")[0]["boxes"], [])
        self.good(
            "apply",
            policy,
            *(row["image"] for row in (first, empty)),
            "-o",
            self.path("more"),
            "--boxes",
            self.path("out.jsonl"),
            "--boxes-out",
            self.path("same.jsonl"),
            "--replay",
            self.path("draws.jsonl"),
        )
        self.assertEqual(self.rows("same.jsonl"), self.rows("more.jsonl"))
        transform = self.file(
            "t.yaml",
            "motley: 1\nname: t\nstages:\n  - center_crop: {size: [20, 30]}\n"
            "  - flip: {horizontal: 1}\n  - output: {}\n  - erase: {p: 1}\n",
        )
        self.good(
            "apply", transform, images[0], "-o", self.path("t"), "--boxes", boxes, "--boxes-out", self.path("t.jsonl")
        )
        (row,) = self.rows("t.jsonl")
        self.assertEqual((row["size"], row["labels"]), ([30, 20], ["cat", {"id": 2}, 7]))
        self.assertEqual(row["boxes"], [[20.5, 0, 30, 20], [0, 0, 5, 20], [10, 0, 20, 4]])

    def test_policies_that_work_in_boxes(self):
        policy = self.file(
            "in.yaml", "motley: 1\nname: in\nops:\n  inside: {op: invert, inside: boxes}\nbranches: [inside]\n"
        )
        boxes = self.boxes(a=[[4, 5, 14, 25]], b=[[0, 0, 1, 1], [9, 9, 20, 20]])
        images = [self.image("a.png"), self.image("b.png", 60, 20, 3)]
        self.good("apply", policy, *images, "-o", self.path("out"), "--boxes", boxes, "--draws", self.path("d.jsonl"))
        width, height, channels, pixels = self.read("out/a-0.png")
        before = self.read("a.png")[3]
        for i in range(width * height):
            inside = 4 <= i % width < 14 and 5 <= i // width < 25
            self.assertEqual(pixels[3 * i] ^ before[3 * i], 255 * inside)
        self.assertEqual([step["inside"] for step in self.rows("d.jsonl")[0]["steps"]], [[4, 5, 14, 25]])
        images = images[:1] + [self.image("b.png", 60, 40, 1)]
        for name in "tf_auto_augment_detection_v1", "tf_auto_augment_detection_v2":
            out = ["--boxes", boxes, "-k", 12, "--boxes-out", self.path("b.jsonl")]
            self.good("apply", name, *images, "-o", self.path("x"), "--draws", self.path("x.jsonl"), *out)
            rows, followed = self.rows("x.jsonl"), self.rows("b.jsonl")
            self.assertEqual(len(followed), 24)
            self.assertTrue(any(step.keys() & {"inside", "box"} for row in rows for step in row["steps"]), name)
            self.good("apply", name, *images, "-o", self.path("y"), "--replay", self.path("x.jsonl"), *out)
            for row in rows:
                again = pathlib.Path(row["out"].replace("/x/", "/y/"))
                self.assertEqual(pathlib.Path(row["out"]).read_bytes(), again.read_bytes(), row)
            self.assertEqual([row["boxes"] for row in self.rows("b.jsonl")], [row["boxes"] for row in followed])

    def test_wrong_boxes_are_refused(self):
        image, out = self.image(), ["-o", self.path("out"), "--boxes-out", self.path("o.jsonl")]
        self.assertIn(
            "works in the boxes of an image, want --boxes",
            self.bad("apply", "tf_auto_augment_detection_v1", image, "-o", self.path("out")),
        )
        boxes = self.boxes(a=[[1, 2, 3, 4]])
        self.assertIn(
            "--boxes has no use", self.bad("apply", "rand_augment", image, "-o", self.path("out"), "--boxes", boxes)
        )
        self.assertIn("mixes 3 chains", self.bad("apply", "augmix", image, "--boxes", boxes, *out))
        self.assertIn("want --boxes and --out", self.bad("apply", "rand_augment", image, *out, status=2))
        self.assertIn(
            "want --boxes and --out",
            self.bad(
                "apply", "rand_augment", image, "--boxes", boxes, *out[2:], "--sheet", self.path("s.png"), status=2
            ),
        )
        self.assertIn("it is --boxes", self.bad("apply", "rand_augment", image, "--boxes", boxes, *out[:3], boxes))
        for row, why in (
            ([[1, 2, 3]], ":1: box 0 is not a list of 4 numbers"),
            (([[1, 2, 3, 4]], [1, 2]), ':1: "labels" is not a list of 1, one for each box'),
            (([[1, 2, 3, 4]], "x"), ':1: "labels" is not a list of 1'),
            ([[1, 2, 3, 4], [5, 0, 4, 1]], ":1: box 1 is [5, 0, 4, 1], want left, top, right and bottom in the"),
            ([[41, 2, 43, 4]], ":1: box 0 is [41, 2, 43, 4], want"),
            ([[float("nan"), 2, 43, 4]], ":1: box 0 is [nan, 2, 43, 4], want"),
        ):
            self.assertIn(why, self.bad("apply", "rand_augment", image, "--boxes", self.boxes(a=row), *out))
            self.assertFalse((self.dir / "o.jsonl").exists())
        for more in ' {"image": "b.png", "boxes": []}', "]", " 1":  # which would be lost
            lines = self.file("more.jsonl", json.dumps({"image": image, "boxes": []}) + more + "\n")
            self.assertIn("more.jsonl:1: want {", self.bad("apply", "rand_augment", image, "--boxes", lines, *out))
        twice = self.file("twice.jsonl", 2 * (json.dumps({"image": image, "boxes": []}) + "\n"))
        self.assertIn(
            f"twice.jsonl:2: the boxes of {image} were given before, on line 1",
            self.bad("apply", "rand_augment", image, "--boxes", twice, *out),
        )
        other = self.image("b.png")  # without a line; the other image is done
        self.assertIn(
            f"b.png: {boxes} has no line for it",
            self.bad("apply", "rand_augment", image, other, "--boxes", self.boxes(a=[[1, 2, 3, 4]]), *out),
        )
        self.assertEqual([row["image"] for row in self.rows("o.jsonl")], [self.path("out/a-0.png")])
        self.assertEqual(self.leftovers(), [])

    def test_replay_of_printed_draws(self):
        image = self.image(width=64, height=48)
        self.file("d.jsonl", self.good("draw", "rand_augment", "-N", "3", "-s", "4", "--size", "64x48"))
        self.good("apply", "rand_augment", image, "-k", "3", "-o", self.path("two"), "--replay", self.path("d.jsonl"))
        self.assertEqual(
            self.apply("one", image, "-k", "3"), {p.name: p.read_bytes() for p in (self.dir / "two").iterdir()}
        )

    def test_replay_takes_no_other_draws(self):
        image, draws, out = self.image(), self.path("d.jsonl"), ["-o", self.path("out")]
        self.good("apply", "rand_augment", image, "-s", "4", "--draws", draws)
        for option, value in ("--seed", "5"), ("--view", "1"):
            error = self.bad("apply", "rand_augment", image, option, value, "--replay", draws, *out, status=2)
            self.assertIn(f"{option} has no use beside --replay", error)
        self.assertEqual(self.leftovers(), [])

    def test_replay_leaves_out_wrong_draws_alone(self):
        image, draws, out = self.image(), self.path("d.jsonl"), self.path("out")
        for policy, right, wrong, why in (
            ("rand_augment", '"steps": [ ', '"steps": [{"op": "rotate", "value": 1e9}]}', "step 0: rotate: value is"),
            ("torchvision_train", '"left": ', '"left": 999', "the given crop of"),
        ):
            self.good("apply", policy, image, "-k", "3", "--draws", draws)
            lines = pathlib.Path(draws).read_text().splitlines()
            lines[1] = (
                lines[1][: lines[1].index(right)] + wrong + ("" if "op" in wrong else lines[1].split(right, 1)[1])
            )
            bad = self.file("bad.jsonl", "\n".join(lines))
            error = self.bad("apply", policy, image, "-k", "3", "-o", out, "--replay", bad)
            self.assertIn(f"a.png: {bad}, sample 1: {why}", error)
            self.assertEqual(sorted(p.name for p in (self.dir / "out").iterdir()), ["a-0.png", "a-2.png"])
            shutil.rmtree(out)

    def test_an_image_that_is_too_small_is_left_out_alone(self):
        text = """{"motley": 1, "name": "x", "stages": [{"blur": {"kernel_size": 23, "sigma": [1, 2]}}]}"""
        images = [self.image("a.png"), self.image("small.png", 5, 5), self.image("b.png")]
        error = self.bad("apply", text, *images, "-o", self.path("out"))
        self.assertIn("small.png: 5x5 is too small for a blur by a kernel of 23", error)
        self.assertEqual(error.count("motley:"), 1)
        self.assertEqual(sorted(os.listdir(self.path("out"))), ["a-0.png", "b-0.png"])

    def test_replay_of_another_epoch_is_refused(self):
        image, draws = self.image(), self.path("d.jsonl")
        self.good("apply", "mobileone_train", image, "--draws", draws)
        error = self.bad("apply", "mobileone_train", image, "--epoch", "299", "-o", self.path("o"), "--replay", draws)
        self.assertIn("sample 0: its result is given as 160x160, but dst has 224x224", error)

    def test_replay_of_names_that_are_no_text(self):
        images = [self.image(name) for name in ("a\udcff.png", "b\u2028\x85.png", "\U0001f600.png", "\\ud800.png")]
        self.good("apply", "timm_eval", *images, "-o", self.path("one"), "--draws", self.path("d.jsonl"))
        self.good("apply", "timm_eval", *images, "-o", self.path("two"), "--replay", self.path("d.jsonl"))
        names = sorted(os.listdir(self.path("one")))
        self.assertEqual(len(names), 4)
        self.assertEqual(names, sorted(os.listdir(self.path("two"))))

    def test_replay_refuses_other_draws(self):
        image, draws = self.image(), self.path("d.jsonl")
        self.good("apply", "rand_augment", image, "-k", "2", "--draws", draws)
        out = ["--out", self.path("out"), "-k", "2"]
        error = self.bad("apply", "timm_rand_augment", image, "--replay", draws, *out)
        self.assertIn("want one from 'timm_train'", self.bad("apply", "timm_train", image, "--replay", draws, *out))
        self.assertIn("d.jsonl:1: drawn from policy 'rand_augment', want one from 'timm_rand_augment'", error)
        self.assertIn("d.jsonl:2: drawn from", error)
        self.image(width=50)
        self.assertIn(
            "d.jsonl:1: drawn for an image of 40x30, this one is 50x30",
            self.bad("apply", "rand_augment", image, "--replay", draws, *out),
        )
        other = self.image("other.png")
        self.assertIn(
            "d.jsonl:1: sample 0 was drawn for a.png", self.bad("apply", "rand_augment", other, "--replay", draws, *out)
        )
        image = self.image()
        self.assertIn(
            "has no draw for sample 2",
            self.bad("apply", "rand_augment", image, "--replay", draws, "-k", "3", "--out", self.path("most")),
        )
        self.assertEqual(sorted(p.name for p in (self.dir / "most").iterdir()), ["a-0.png", "a-1.png"])
        rotate = '{"op": "rotate", "value": 9.0, "interpolation": "nearest", "fill": [0, 0, 0]}'
        for text, why in (
            ("{}", ":1: want a JSON object with"),
            ('{"sample": -1, "steps": []}', ":1: want a JSON object with"),
            ("\n[", ":2: want a JSON object with"),
            ('{"sample": 0, "steps": [], "size": [40, 0]}', ':1: "size" is [ 40, 0 ], want [width, height]'),
            ('{"sample": 0, "steps": [], "image": 3}', ':1: "image", "policy" or "view" is not a text'),
            ('{"sample": 0, "steps": []}\n{"sample": 0, "steps": []}', ":2: sample 0 was given before, on line 1"),
            ('{"sample": 0}', '"steps" is missing'),
            ('{"sample": 0, "steps": [{"op": "rotat", "value": 3}]}', "did you mean 'rotate'?"),
            ('{"sample": 0, "steps": [{"op": "rotate"}]}', "rotate has 0 values"),
            ('{"sample": 0, "steps": [' + ", ".join([rotate] * 3) + "]}", '"steps" has 3 steps, want at most 2'),
            ('{"sample": 0, "steps": [' + rotate.replace("0, 0, 0", "0") + "]}", '"fill" has 1 numbers'),
        ):
            path = self.file("bad.jsonl", text)
            error = self.bad("apply", "rand_augment", image, "--replay", path, "--out", self.path("none"))
            self.assertIn(why, error)
            self.assertFalse((self.dir / "none" / "a-0.png").exists())
        self.file("crop.jsonl", self.good("draw", "timm_eval", "--size", "40x30"))
        self.assertIn(
            "crop.jsonl:1: drawn by a transform",
            self.bad("apply", "rand_augment", image, "--replay", self.path("crop.jsonl"), *out),
        )
        self.assertIn("No such file", self.bad("apply", "rand_augment", image, "--replay", self.path("absent"), *out))
        self.assertIn("is --replay", self.bad("apply", "rand_augment", image, "--replay", draws, "--draws", draws))

    def test_sheet(self):
        images = [self.image("a.png", 300, 200), self.image("\u00fcber.png", 20, 90), self.image("a\udcff.png", 9, 9)]
        self.good("apply", "rand_augment", *images, "-k", "3", "--cell", "100", "--sheet", self.path("s.png"))
        width, height, channels, pixels = self.read("s.png")
        self.assertEqual(channels, 3)
        self.assertGreater(width, 4 * 100)
        self.assertGreater(height, 67 + 90)
        self.assertEqual(pixels[:3], b"\xff\xff\xff")
        self.assertGreater(len(set(pixels[i : i + 3] for i in range(0, len(pixels), 3))), 1000)

    def test_sheet_with_a_picture_that_is_too_wide_for_cairo(self):
        image = self.image("wide.png", 70000, 2)
        self.good("apply", "rand_augment", image, self.image(), "-o", self.path("out"), "--sheet", self.path("s.png"))
        self.assertEqual(len(os.listdir(self.path("out"))), 2)
        self.assertGreater(len(set(self.read("s.png")[3])), 100)

    def test_sheet_with_many_steps(self):
        policy = {"motley": 1, "name": "x", "repeat": 4, "ops": {"invert": {"inside": "boxes"}}, "branches": ["invert"]}
        image = self.image()
        boxes = self.file("b.jsonl", json.dumps({"image": image, "boxes": [[1, 1, 9, 9]] * 50000}))
        self.good("apply", json.dumps(policy), image, "--boxes", boxes, "--sheet", self.path("s.png"))

    def test_orientation_is_applied(self):
        width, height = 5, 3
        pixels = pattern(width, height, 3)
        grid = [[pixels[(y * width + x) * 3 :][:3] for x in range(width)] for y in range(height)]

        def flip(g):
            return [row[::-1] for row in g]

        def transpose(g):
            return [list(row) for row in zip(*g)]

        # TIFF 6.0: where row 0 and column 0 of the file lie in the picture
        upright = {
            1: grid,
            2: flip(grid),
            3: flip(grid)[::-1],
            4: grid[::-1],
            5: transpose(grid),
            6: flip(transpose(grid)),
            7: flip(transpose(grid))[::-1],
            8: transpose(grid)[::-1],
            9: grid,
        }
        for orientation, wanted in upright.items():
            path = self.file("o.png", png(width, height, 3, pixels, before=chunk(b"eXIf", exif(orientation))))
            self.good("op", "identity", path, self.path("out.png"))
            self.assertEqual(
                self.read("out.png"),
                (len(wanted[0]), len(wanted), 3, b"".join(p for row in wanted for p in row)),
                orientation,
            )
        path = self.file("o.jpg", jpeg(24, 8, 3, app=exif_segment(6)))
        self.good("op", "identity", path, self.path("out.png"))
        self.assertEqual(self.read("out.png"), (8, 24, 3, bytes([128]) * (24 * 8 * 3)))

    def test_kinds_of_png_and_jpeg(self):
        for channels in (1, 2, 3, 4):
            pixels = pattern(13, 7, channels)
            path = self.file("in.png", png(13, 7, channels, pixels))
            self.good("op", "identity", path, self.path("out.png"))
            self.assertEqual(self.read("out.png"), (13, 7, channels, pixels))
        for depth, row, wanted in (
            (1, b"\xa0", (255, 0, 255)),
            (2, b"\x1b", (0, 85, 170, 255)),
            (4, b"\x0f", (0, 255)),
        ):
            path = self.file("in.png", png(len(wanted), 1, 1, row, depth=depth))
            self.good("op", "identity", path, self.path("out.png"))
            self.assertEqual(self.read("out.png"), (len(wanted), 1, 1, bytes(wanted)))
        for components in (1, 3):
            path = self.file("in.jpg", jpeg(9, 17, components))
            self.good("op", "identity", path, self.path("out.png"))
            self.assertEqual(self.read("out.png"), (9, 17, components, bytes([128]) * (9 * 17 * components)))

    @unittest.skipUnless(PIL, "Pillow is not here")
    def test_pixels_are_those_of_pillow(self):
        source = PIL.Image.frombytes("RGB", (157, 83), pattern(157, 83, 3)).resize((301, 203), PIL.Image.BICUBIC)
        exif_data = PIL.Image.Exif()
        cases = [
            ("JPEG", ".jpg", dict(quality=q, subsampling=s, progressive=p))
            for q in (30, 95)
            for s in (0, 1, 2)
            for p in (False, True)
        ] + [("PNG", ".png", {}), ("PNG", ".png", {"optimize": True})]
        for number, (kind, suffix, options) in enumerate(cases):
            for mode in ("RGB", "L"):
                exif_data[0x0112] = 1 + number % 8
                path = self.path("in" + suffix)
                source.convert(mode).save(path, kind, exif=exif_data, **options)
                self.good("op", "identity", path, self.path("out.png"))
                with PIL.Image.open(path) as opened:
                    wanted = PIL.ImageOps.exif_transpose(opened)
                    self.assertEqual(wanted.mode, mode)
                with PIL.Image.open(self.path("out.png")) as found:
                    self.assertEqual(
                        (found.mode, found.size, found.tobytes()),
                        (wanted.mode, wanted.size, wanted.tobytes()),
                        (kind, mode, options),
                    )


class Op(Case):
    def test_every_op_runs_at_its_example(self):
        path = self.image()
        for op in json.loads(self.good("ops", "--json")):
            value = {0: [], 6: ["1,0.1,-3,0,1,2"]}.get(op["values_min"], [op.get("example")])
            self.good("op", op["name"], *value, path, self.path("out.png"))
            self.assertEqual(self.read("out.png")[:3], (40, 30, 3))

    def test_values_and_options(self):
        path, pixels = self.image("a.png", 8, 8), pattern(8, 8, 3)
        rows = [pixels[y * 24 : (y + 1) * 24] for y in range(8)]
        self.good("op", "translate_x", "-3", path, self.path("out.png"), "--fill", "1,2,3")
        self.assertEqual(self.read("out.png")[3], b"".join(row[9:] + bytes([1, 2, 3] * 3) for row in rows))
        self.good("op", "invert", "-", path, self.path("out.png"))
        self.assertEqual(self.read("out.png")[3], bytes(255 - v for v in pixels))
        self.good("op", "cutout_tf", "1,4,4", path, self.path("out.png"), "--fill", "9")
        changed = [i // 3 for i, (a, b) in enumerate(zip(self.read("out.png")[3], pixels)) if a != b]
        self.assertEqual(sorted(set(changed)), [27, 28, 35, 36])
        self.good("op", "rotate", "-.5e1", path, self.path("n.png"))
        self.good("op", "rotate", "--interpolation=bicubic", "-5", path, self.path("b.png"))
        self.assertNotEqual(self.read("n.png"), self.read("b.png"))

    def test_mistakes(self):
        path, out = self.image(), self.path("out.png")
        self.assertIn("unknown operation 'rotat'", self.bad("op", "rotat", "9", path, out))
        self.assertIn("brightness", self.bad("op", "brightness", "1e9", path, out))
        self.assertIn("rotate", self.bad("op", "rotate", path, out))
        self.assertIn("invert", self.bad("op", "invert", "3", path, out))
        for args in (
            ["rotate"],
            ["rotate", "x", path, out],
            ["rotate", "1,,2", path, out],
            ["rotate", "nan", path, out],
            ["rotate", "9", path, out, "more"],
            ["rotate", "9", path, out, "--fill", "256"],
            ["rotate", "9", path, out, "--fill", "1,2"],
            ["rotate", "9", path, out, "--interpolation", "area"],
            ["rotate", "9", path, out, "--device", "tpu"],
        ):
            self.bad("op", *args, status=2)
        self.assertFalse(os.path.exists(out))


class Wide(Case):
    """PNG files of 16 bits."""

    def wide(self, name, values, width, height, before=b""):
        channels = len(values) // (width * height)
        return self.file(name, png(width, height, channels, struct.pack(f">{len(values)}H", *values), before, depth=16))

    def pair(self, name, width, height, channels):
        """The same picture in 8 bits and in 16, under one name."""
        pixels = pattern(width, height, channels)
        for folder in ("8", "16"):
            (self.dir / folder).mkdir(exist_ok=True)
        return (
            self.file(f"8/{name}", png(width, height, channels, pixels)),
            self.wide(f"16/{name}", [257 * v for v in pixels], width, height),
        )

    def values(self, name):
        width, height, channels, data = self.read(name)
        self.assertEqual(len(data), 2 * width * height * channels)
        return list(struct.unpack(f">{len(data) // 2}H", data))

    def test_op(self):
        out = self.path("out.png")
        for channels in (1, 3):
            values = [(7919 * i + 13) % 4096 for i in range(12 * 5 * channels)]
            path = self.wide("a.png", values, 12, 5)
            self.good("op", "identity", path, out)
            self.assertEqual(self.values("out.png"), values)
            self.good("op", "invert", path, out)
            self.assertEqual(self.values("out.png"), [65535 - v for v in values])
            self.good("op", "invert", path, out, "--range", "0,4095")
            self.assertEqual(self.values("out.png"), [4095 - v for v in values])
            self.good("op", "translate_x", "-12", path, out, "--range", "0,4095", "--fill", "255")
            self.assertEqual(set(self.values("out.png")), {4095})
            self.good("op", "translate_x", "-12", path, out, "--range", "0,4095", "--fill", "124")
            self.assertEqual(set(self.values("out.png")), {round(124 * 4095 / 255)})
        upright = self.wide("b.png", range(1000, 1006), 3, 2, before=chunk(b"eXIf", exif(6)))
        self.good("op", "identity", upright, out)
        self.assertEqual(
            (self.read("out.png")[:2], self.values("out.png")), ((2, 3), [1003, 1000, 1004, 1001, 1005, 1002])
        )

    def test_apply_draws_and_paints_as_of_8_bits(self):
        crop = "{motley: 1, name: c, stages: [{random_resized_crop: {size: 20}}, {flip: {horizontal: 0.5}}]}"
        pairs = [self.pair(f"{i}.png", 30 + 7 * i, 20 + i, channels) for i, channels in enumerate((3, 1, 3))]
        for policy in ("trivial_augment_wide", crop):
            found = {}
            for folder, images in zip(("8", "16"), zip(*pairs)):
                draws, out = self.path(f"{folder}.jsonl"), self.path(f"out-{folder}")
                self.good("apply", policy, *images, "-k", "15", "-o", out, "--draws", draws)
                rows = [json.loads(line) for line in pathlib.Path(draws).read_text().splitlines()]
                found[folder] = [{**row, "image": None, "out": pathlib.Path(row["out"]).name} for row in rows]
            self.assertEqual(found["8"], found["16"])
            for row in found["8"]:
                narrow, wide = self.read(f"out-8/{row['out']}"), self.values(f"out-16/{row['out']}")
                furthest = max(abs(a - b / 257) for a, b in zip(narrow[3], wide, strict=True))
                self.assertLessEqual(furthest, 1.5, row)
            replayed = self.path("replayed")
            self.good("apply", policy, *pairs[0][1:], "-o", replayed, "--replay", self.path("8.jsonl"))
            self.assertEqual(self.read("replayed/0-0.png"), self.read("out-16/0-0.png"))

    def test_beside_8_bits_on_any_threads(self):
        images = [path for i in range(3) for path in self.pair(f"{i}.png", 30 + i, 20, 1 + 2 * (i % 2))]
        for more in (["--threads", "1"], ["--threads", "3"], ["--device", "reference"]):
            self.good("apply", "rand_augment", *images, "-k", "2", "-o", self.path(more[1]), *more)
        for i, path in enumerate(images):
            for variant in (0, 1):
                name = f"{i // 2}-i{i}-{variant}.png"
                one = self.read(f"1/{name}")
                self.assertEqual(len(one[3]), (1 + i % 2) * one[0] * one[1] * one[2], path)
                self.assertEqual(one, self.read(f"3/{name}"))
                self.assertEqual(one, self.read(f"reference/{name}"))

    def test_shown_as_of_8_bits(self):
        policy = "{motley: 1, name: flipped, branches: [[invert]]}"
        for white, scale in ((65535, 257), (510, 2)):
            found = []
            for folder, scaled in (("8", None), ("16", scale)):
                (self.dir / folder).mkdir(exist_ok=True)
                for name, channels in (("grey.png", 1), ("colour.png", 3)):
                    pixels = pattern(30, 20, channels)
                    if scaled:
                        self.wide(f"{folder}/{name}", [scaled * v for v in pixels], 30, 20)
                    else:
                        self.file(f"{folder}/{name}", png(30, 20, channels, pixels))
                images = [self.path(f"{folder}/{name}") for name in ("grey.png", "colour.png")]
                page, sheet = self.path("page.html"), self.path("sheet.png")
                self.good("preview", policy, *images, "-o", page, "-N", "9", "--range", f"0,{white}")
                self.good("apply", policy, *images, "--sheet", sheet, "--range", f"0,{white}")
                found.append((pathlib.Path(page).read_text(), self.read("sheet.png")))
            self.assertTrue(found[0] == found[1], white)  # assertEqual takes a minute to compare pages

    def test_mistakes(self):
        path, out = self.wide("a.png", range(12), 4, 3), self.path("out.png")
        for text in ("4095", "1,4095", "0,0", "0,65536", "0,4095.5", "0,1,2", "white"):
            self.assertIn(f"--range is '{text}'", self.bad("op", "invert", path, out, "--range", text, status=2))
        error = self.bad("preview", "rand_augment", path, "--mask", path, "-o", self.path("page.html"))
        self.assertIn("the mask is 4 x 3 with 1 channels of 16 bits", error)
        error = self.bad("apply", "augmix", path, "-o", self.path("out"))
        self.assertIn("augmix: ", error)
        self.assertFalse((self.dir / "out" / "a-0.png").exists())


class Gpu(Case):
    """--device cuda gives the files that --device cpu gives; where there is no GPU, it says so and writes nothing."""

    def setUp(self):
        super().setUp()
        self.a = self.image("a.png", 300, 200)
        done = subprocess.run(
            [MOTLEY, "op", "invert", self.a, self.path("probe.png"), "--device", "cuda"],
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.why = done.stderr if done.returncode else ""

    def need_gpu(self):
        if self.why and os.environ.get("REQUIRE_CUDA"):
            self.fail(self.why)
        if self.why:
            self.skipTest(self.why.strip())

    def test_without_one(self):
        if not self.why:
            self.skipTest("there is a GPU here")
        self.assertRegex(self.why, r"^motley: .*CUDA")
        for args in (["apply", "rand_augment", self.a, "--out", self.path("out")], ["bench", "--runs", "1"]):
            self.assertIn(self.why.removeprefix("motley: ").strip(), self.bad(*args, "--device", "cuda"))
        self.assertEqual(sorted(p.name for p in self.dir.iterdir()), ["a.png"])
        self.good("op", "invert", self.a, self.path("auto.png"), "--device", "auto")  # takes the CPU
        self.assertTrue((self.dir / "auto.png").exists())

    def test_same_files(self):
        self.need_gpu()
        images = [self.image(f"{i}.png", 30 + 70 * i, 20 + i, channels) for i, channels in enumerate((3, 1, 3, 4, 2))]
        images += [self.file("wide.png", png(90, 40, 3, pattern(90, 80, 3), depth=16))]
        for policy in ("rand_augment", "trivial_augment_wide", "auto_augment_imagenet"):
            found = {}
            for device in ("cpu", "cuda", "auto"):
                out = self.dir / policy / device
                out.parent.mkdir(exist_ok=True)
                self.good(
                    "apply",
                    policy,
                    *images,
                    self.a,
                    "-k",
                    "20",
                    "--out",
                    out,
                    "--draws",
                    f"{out}.jsonl",
                    "--device",
                    device,
                )
                draws = [json.loads(line) for line in pathlib.Path(f"{out}.jsonl").read_text().splitlines()]
                found[device] = ({p.name: p.read_bytes() for p in out.iterdir()}, [row["steps"] for row in draws])
            self.assertEqual(len(found["cpu"][0]), 140)
            self.assertEqual(found["cpu"], found["cuda"])
            self.assertEqual(found["cpu"], found["auto"])

    def test_same_ops(self):
        self.need_gpu()
        for op in json.loads(self.good("ops", "--json")):
            if op["values_max"] > 1 and op["values_min"] > 1:
                continue
            value = [str(op["example"])] if op["values_max"] else []
            for device in ("cpu", "cuda"):
                self.good("op", op["name"], *value, self.a, self.path(f"{device}.png"), "--device", device)
            self.assertEqual(self.read("cpu.png"), self.read("cuda.png"), op["name"])

    def test_bench(self):
        self.need_gpu()
        for more in ([], ["--op", "all"], ["--in-place", "--layout", "chw"]):
            text = self.good("bench", "--runs", "3", "--batch", "8", "--json", "--device", "cuda", *more)
            for row in map(json.loads, text.splitlines()):
                self.assertEqual(row["device"], "cuda")
                self.assertGreater(row["us_per_image"], 0)
                self.assertGreater(row["host_us_per_call"], 0)


class Bench(Case):
    few = ["--threads", "1", "--runs", "3", "--batch", "4", "--size", "20x10", "--json"]

    def test_policies_and_ops(self):
        rows = [json.loads(line) for line in self.good("bench", *self.few).splitlines()]
        self.assertEqual([row["name"] for row in rows], ["rand_augment", "trivial_augment_wide"])
        for row in rows:
            self.assertEqual((row["width"], row["height"], row["channels"], row["batch"]), (20, 10, 3, 4))
            self.assertGreater(row["us_per_image"], 0)
        row = json.loads(self.good("bench", "tf_auto_augment_detection_v2", *self.few))
        self.assertEqual(row["name"], "tf_auto_augment_detection_v2")
        text = self.good("bench", "--op", "all", "--layout", "chw", *self.few)
        rows = [json.loads(line) for line in text.splitlines()]
        self.assertEqual([row["name"] for row in rows], [op["name"] for op in json.loads(self.good("ops", "--json"))])
        self.assertIn(
            "rotate", self.good("bench", "--op", "rotate=-9", "-i", "bicubic", "--runs", "3", "-B", "4", "--in-place")
        )

    def test_mistakes(self):
        self.assertIn("unknown operation 'nix'", self.bad("bench", "--op", "nix"))
        self.assertIn("'rand_augment'", self.bad("bench", "rand_augmen"))
        for args in (["--op", "rotate", "rand_augment"], ["--op", "rotate=x"], ["--layout", "nchw"], ["--runs", "0"]):
            self.bad("bench", *args, status=2)


class BadInput(Case):
    def nasty(self):
        """name, bytes, what the message must say."""
        good = png(40, 30, 3, pattern(40, 30, 3))
        photo = jpeg(640, 480, 3)
        frames = chunk(b"acTL", struct.pack(">II", 2, 0))
        palette = chunk(b"PLTE", bytes(range(12)))
        huge = (
            b"\x89PNG\r\n\x1a\n"
            + chunk(b"IHDR", struct.pack(">IIBBBBB", 20000, 20000, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", b"x")
            + chunk(b"IEND", b"")
        )
        return [
            ("empty.png", b"", "empty"),
            ("text.png", b"hello, this is no image", "not an image"),
            ("x.gif", b"GIF89a" + bytes(30), "GIF"),
            ("x.webp", b"RIFF\0\0\0\0WEBPVP8 ", "WebP"),
            ("x.tiff", b"II*\0" + bytes(30), "TIFF (in Python, motley.Transform takes what tifffile"),
            ("truncated.png", good[: len(good) // 2], "truncated"),
            ("head.png", good[:20], "truncated"),
            ("damaged.png", good[:60] + b"\xff" + good[61:], "damaged"),
            ("truncated.jpg", photo[: len(photo) // 2], "truncated"),
            ("head.jpg", photo[:100], "truncated"),
            ("cmyk.jpg", jpeg(16, 16, 4), "CMYK"),
            ("cmyk-adobe.jpg", jpeg(16, 16, 4, adobe=0), "CMYK"),
            ("ycck.jpg", jpeg(16, 16, 4, adobe=2), "YCCK"),
            ("two.jpg", jpeg(16, 16, 2), "2 channels"),
            ("16.png", png(4, 4, 4, bytes(4 * 4 * 8), depth=16), "16 bits and alpha"),
            ("grey-16.png", png(4, 4, 2, bytes(4 * 4 * 4), depth=16), "16 bits and alpha"),
            ("checksum.png", good[:-13] + bytes([good[-13] ^ 1]) + good[-12:], "CRC"),
            ("critical.png", png(4, 4, 3, bytes(48), before=chunk(b"ABCD", b"x")), "ABCD"),
            ("endless.png", good[:-12], "truncated"),
            ("palette.png", png(4, 4, 1, bytes(16), before=palette, colour=3), "palette"),
            ("animated.png", png(4, 4, 3, bytes(48), before=frames), "animated (2 frames)"),
            ("zero.png", png(0, 0, 3, b""), "zero"),
            ("zero-width.jpg", jpeg(0, 16, 3), "JPEG"),
            ("zero-height.jpg", jpeg(16, 0, 3), "JPEG"),
            ("huge.png", huge, "20000x20000 pixels, 400000000 in all, want at most 178956970"),
            (
                "huge.jpg",
                jpeg(16, 16, 3).replace(struct.pack(">BHHB", 8, 16, 16, 3), struct.pack(">BHHB", 8, 65000, 65000, 3)),
                "65000x65000 pixels",
            ),
            ("long.png", png(2000000, 1, 1, bytes(250000), depth=1), "want sides of at most 1048576"),
        ]

    def test_each_is_refused_by_name(self):
        for name, data, wanted in self.nasty():
            path = self.file(name, data)
            error = self.bad("op", "identity", path, self.path("out.png"))
            self.assertTrue(error.startswith(f"motley: {path}: ") and error.count("\n") == 1, error)
            self.assertIn(wanted, error)
            self.assertFalse(os.path.exists(self.path("out.png")), name)

    def test_the_others_are_still_done(self):
        nasty = [self.file(name, data) for name, data, _ in self.nasty()]
        paths = [self.image("first.png"), *nasty, self.path("absent.png"), str(self.dir), self.image("last.png")]
        error = self.bad(
            "apply",
            "rand_augment",
            *paths,
            "-k",
            "2",
            "--out",
            self.path("out"),
            "--draws",
            self.path("d.jsonl"),
            "--sheet",
            self.path("s.png"),
        )
        self.assertEqual(error.count("\n"), len(paths) - 2, error)
        self.assertIn("absent.png: No such file", error)
        self.assertIn(f"{self.dir}: Is a directory", error)
        names = ["first-0.png", "first-1.png", "last-0.png", "last-1.png"]
        self.assertEqual(sorted(p.name for p in (self.dir / "out").iterdir()), names)
        rows = [json.loads(line) for line in (self.dir / "d.jsonl").read_text().splitlines()]
        last = 2 * (len(paths) - 1)
        self.assertEqual([row["sample"] for row in rows], [0, 1, last, last + 1])
        self.assertTrue(self.read("s.png"))

    def test_when_nothing_can_be_read_nothing_is_written(self):
        self.bad(
            "apply",
            "rand_augment",
            self.path("absent.png"),
            "--draws",
            self.path("d.jsonl"),
            "--sheet",
            self.path("s.png"),
        )
        self.assertEqual(list(self.dir.iterdir()), [])

    def test_unknown_names_and_values_out_of_range(self):
        path = self.image()
        self.assertIn("'rand_augment'", self.bad("draw", "rand_augmen"))
        self.assertIn("level", self.bad("draw", "rand_augment", "--level", "31"))
        self.assertIn("level", self.bad("apply", "rand_augment", path, "--level", "-1", "--out", self.path("out")))
        self.assertIn("No such file", self.bad("show", self.path("absent.yaml")))
        self.assertEqual([p.name for p in self.dir.iterdir()], ["a.png"])

    def test_wrong_usage(self):
        path = self.image()
        for args in (
            [],
            ["aply"],
            ["--nonsense"],
            ["ops", "x"],
            ["policies", "x"],
            ["transforms", "x"],
            ["show"],
            ["show", "a", "b"],
            ["check"],
            ["draw"],
            ["draw", "a", "b"],
            ["draw", "rand_augment", "--samples", "x"],
            ["draw", "rand_augment", "--samples", "-1"],
            ["draw", "rand_augment", "--seed", "-1"],
            ["draw", "rand_augment", "--epoch", "1073741824"],
            ["draw", "rand_augment", "--view", "65536"],
            ["draw", "rand_augment", "--size", "12"],
            ["draw", "rand_augment", "--size", "0x5"],
            ["draw", "rand_augment", "--channels", "5"],
            ["draw", "rand_augment", "--interpolation", "nearest,area"],
            ["draw", "rand_augment", "--fill", "1;2"],
            ["apply"],
            ["apply", "rand_augment"],
            ["apply", "rand_augment", path],
            ["apply", "rand_augment", path, "--variants", "0", "--out", self.path("out")],
            ["apply", "rand_augment", path, "--threads", "x", "--out", self.path("out")],
            ["apply", "rand_augment", path, "--sheet", self.path("s.JPG")],
            ["op", "invert", path, self.path("o.jpeg")],
            *(["op", "invert", path, self.path("o." + ending)] for ending in ("gif", "WEBP", "bmp", "tif", "tiff")),
        ):
            error = self.bad(*args, status=2)
            self.assertRegex(error, r"\Amotley[a-z ]*: .*\nTry `motley", args)
        self.assertFalse((self.dir / "out").exists())

    def test_two_inputs_of_one_name_that_cannot_be_told_apart(self):
        for folder in ("x", "y"):
            (self.dir / folder).mkdir()
        paths = [self.image("x/a.png"), self.image("y/a.png"), self.image("a-i0.png")]
        self.assertIn("a-i0-0.png", self.bad("apply", "rand_augment", *paths, "--out", self.path("out")))


class Clashes(Case):
    """What is written is never what is read, or something else that is written."""

    def setUp(self):
        super().setUp()
        self.one, self.two = self.image("a.png"), self.image("a-0.png", 20, 10)
        self.before = {path: path.read_bytes() for path in self.dir.iterdir()}

    def refuses(self, what, *args, cwd=None):
        done = self.run_motley("apply", "rand_augment", *args, status=1, cwd=cwd)
        self.assertRegex(done.stderr, f"{what}.*nothing was done")
        after = {path: path.read_bytes() for path in self.dir.iterdir() if path.is_file() and not path.is_symlink()}
        self.assertEqual({path: after[path] for path in self.before}, self.before)
        self.assertEqual(self.leftovers(), [])

    def test_outputs_that_are_inputs(self):
        os.mkdir(self.path("links"))
        os.symlink(self.one, self.path("links/s.png"))
        os.link(self.one, self.path("links/h.jsonl"))
        os.symlink(self.dir, self.path("again"))
        refuses = self.refuses
        refuses("a-0.png: --out would write it, but it is an image to be read", self.one, self.two, "-o", self.dir)
        refuses("a-0.png: --out would", self.one, self.two, "-o", self.path("again"))
        refuses("a-0.png: --out would", "a.png", "./a-0.png", "-o", "links/../", cwd=self.dir)
        for option in "--draws", "--sheet":
            for path in self.one, self.path("again/a.png"), self.path("links/s.png"), self.path("links/h.jsonl"):
                refuses(f"{option} would write it, but it is an image", self.one, option, path)
        policy = self.file("p.yaml", subprocess.run([MOTLEY, "show", "rand_augment"], capture_output=True).stdout)
        self.assertIn("it is the policy", self.bad("apply", policy, self.one, "--draws", policy))
        self.assertTrue(pathlib.Path(policy).read_text().startswith("motley: 1"))

    def test_outputs_that_are_each_other(self):
        self.refuses("--sheet|--draws", self.one, "--draws", self.path("z"), "--sheet", self.path("./z"))
        self.refuses("a-1.png: --(sheet|out) would", self.one, "-k", 2, "-o", self.dir, "--sheet", self.path("a-1.png"))
        self.refuses("--(sheet|out) would", self.one, "-o", self.path("new"), "--sheet", self.path("new/a-0.png"))
        self.assertFalse(os.path.exists(self.path("new")))  # the folder that was made is gone again

    def test_what_is_merely_near_is_done(self):
        self.good(
            "apply",
            "rand_augment",
            self.one,
            self.one,
            "-o",
            self.path("out"),
            "--draws",
            "/dev/stdout",
            "--sheet",
            self.path("out/sheet.png"),
        )
        self.good("apply", "rand_augment", self.one, "-o", self.path("out"))  # outputs of last time are replaced


class Names(Case):
    def test_names_that_are_no_text_or_command_a_terminal(self):
        data = png(4, 3, 3, pattern(4, 3, 3))
        names = [b"caf\xe9.png", b'\xff\xfe"\\.png', "\u00e9\u4e2d.png".encode(), b"\x1b[31mred\x07\xc2\x9b.png"]
        for name in names:
            with open(os.path.join(os.fsencode(self.dir), name), "wb") as file:
                file.write(data)
        done = subprocess.run(
            [MOTLEY, "apply", "rand_augment", *names, "-o", "out", "--draws", "d.jsonl"],
            cwd=self.dir,
            capture_output=True,
            timeout=60,
        )
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        text = (self.dir / "d.jsonl").read_bytes().decode()  # UTF-8, every line of it JSON
        rows = [json.loads(line) for line in text.splitlines()]
        self.assertEqual([os.fsencode(row["image"]) for row in rows], names)
        for row in rows:
            self.assertTrue(os.path.exists(os.path.join(os.fsencode(self.dir), os.fsencode(row["out"]))))

        bad = subprocess.run(
            [MOTLEY, "apply", "rand_augment", b"none\x1b[2J\xe9\n\xc2\x9b.png", "-o", "out"],
            cwd=self.dir,
            capture_output=True,
            timeout=60,
        )
        self.assertEqual(bad.stderr, rb"motley: none\x1b[2J\xe9\x0a\xc2\x9b.png: No such file or directory" + b"\n")
        with open(os.path.join(os.fsencode(self.dir), b"\x1b.yaml"), "wb") as file:
            file.write(b"motley: 2\n")
        bad = subprocess.run([MOTLEY, "check", b"\x1b.yaml"], cwd=self.dir, capture_output=True, timeout=60)
        self.assertIn(rb"\x1b.yaml:1:9: error: ", bad.stderr)


class Pipes(Case):
    def test_a_pipe_that_nobody_writes_to(self):
        os.mkfifo(self.path("pipe"))
        good = self.image()
        self.assertIn("is a pipe that nobody writes to", self.bad("check", self.path("pipe")))
        done = self.run_motley("apply", "rand_augment", self.path("pipe"), good, "-o", self.path("out"), status=1)
        self.assertIn("pipe: it is a pipe or a device, want a file", done.stderr)
        self.assertTrue(os.path.exists(self.path("out/a-0.png")))  # the other one is done
        self.assertIn("No such device", self.bad("apply", "rand_augment", good, "--draws", self.path("pipe")))
        for option, more in (("--replay", []), ("--levels", []), ("--boxes", ["--boxes-out", self.path("boxes")])):
            self.assertIn(
                "is a pipe that nobody writes to",
                self.bad("apply", "rand_augment", good, "-o", self.path("out"), option, self.path("pipe"), *more),
            )

    def test_a_policy_from_a_pipe(self):
        text = self.good("show", "rand_augment")
        for pause in 0, 0.3:
            read, write = os.pipe()
            run = subprocess.Popen(
                [MOTLEY, "show", f"/dev/fd/{read}"], pass_fds=[read], stdout=subprocess.PIPE, text=True
            )
            os.close(read)
            time.sleep(pause)
            with os.fdopen(write, "w") as file:
                file.write(text)
            self.assertEqual(run.communicate(timeout=30)[0], text)

    def test_levels_from_a_pipe(self):
        given = ["draw", "rand_augment", "--level", "given", "--samples", "2", "--levels"]
        for pause in 0, 0.3:
            read, write = os.pipe()
            run = subprocess.Popen(
                [MOTLEY, *given, f"/dev/fd/{read}"], pass_fds=[read], stdout=subprocess.PIPE, text=True
            )
            os.close(read)
            time.sleep(pause)
            with os.fdopen(write, "w") as file:
                file.write("0.5\n1\n")
            wanted = self.good(*given, self.file("levels.txt", "0.5\n1\n"))
            self.assertEqual(run.communicate(timeout=30)[0], wanted)

    def test_standard_streams_that_are_closed(self):
        image, policy = self.image(), self.file("v.yaml", "motley: 1\nname: v\nbranches: [invert]\n")

        def run(*args, closed):
            return subprocess.run(
                [MOTLEY, *args], stderr=subprocess.PIPE, timeout=60, preexec_fn=lambda: [os.close(k) for k in closed]
            )

        self.good("apply", policy, image, "-o", self.path("wanted"))
        for closed in ([1], [0], [0, 1]):  # no file that is opened may get the number of standard output
            self.assertEqual(run("check", policy, closed=closed).returncode, 0)
            done = run("apply", policy, image, "-o", self.path("out"), closed=closed)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertEqual(self.read("out/a-0.png"), self.read("wanted/a-0.png"))
        done = run("ops", closed=[1])
        self.assertEqual((done.returncode, done.stderr), (1, b"motley: standard output: Bad file descriptor\n"))


class Numbers(Case):
    def test_a_message_shows_what_it_refuses(self):
        self.assertIn(
            "level is 30.000000000000004, want 0..30", self.bad("show", "rand_augment", "-m", "30.000000000000004")
        )
        self.assertIn("rotate takes 1 value (", self.bad("op", "rotate", "1,2", self.image(), self.path("o.png")))
        self.assertIn(
            "invert takes 0 values, 1 were given", self.bad("op", "invert", "1", self.image(), self.path("o.png"))
        )

    def test_the_last_sample(self):
        row = json.loads(self.good("draw", "rand_augment", "--first", 2**64 - 1))
        self.assertEqual(row["sample"], 2**64 - 1)
        self.assertIn("2^64-1", self.bad("draw", "rand_augment", "--first", 2**64 - 1, "-N", 2, status=2))
        for text, number in (("000123", 123), ("09", 9), ("0x1F", 31)):
            row = json.loads(self.good("draw", "rand_augment", "--first", text))
            self.assertEqual(row["sample"], number)


class Limits(Case):
    """What a container, or `ulimit`, withholds."""

    @unittest.skipIf(SANITIZED or COUNTED, "sanitizers start threads and map memory, and line counters write files")
    def test_threads_that_cannot_start_are_an_error(self):
        def few_processes():
            if os.getuid() == 0:  # the limit does not hold for root
                os.setgroups([])
                os.setgid(12345)
                os.setuid(12345)
            resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))

        def little_memory():  # room for the command, and for a few stacks of 8 MB
            resource.setrlimit(resource.RLIMIT_STACK, (8 << 20, 8 << 20))
            resource.setrlimit(resource.RLIMIT_AS, (200 << 20, 200 << 20))

        self.dir.chmod(0o777)
        path = self.image()
        for limit in few_processes, little_memory:
            with self.subTest(limit.__name__):
                several = "apply", "rand_augment", path, "-o", self.path("out"), "-k", "2"
                done = self.run_motley(*several, "-t", "200", status=1, preexec_fn=limit)
                self.assertRegex(done.stderr, "cannot start 200 threads: .*; want fewer, or a higher limit")
                self.run_motley(*several, "-t", "1", preexec_fn=limit)
                self.run_motley("op", "invert", path, self.path("o.png"), "-t", "200", preexec_fn=limit)  # starts none

    @unittest.skipIf(SANITIZED or COUNTED, "sanitizers map memory, and line counters need some at the end")
    def test_a_png_without_memory_is_not_called_damaged(self):
        wide = self.file("wide.png", png(10**6, 2, 3, bytes(6 * 10**6)))  # two rows, and libpng's copies of rows
        small = self.file("small.png", png(300, 500, 3, bytes(300 * 500 * 3)))  # less than zlib takes to compress it

        def run(size, *args):
            return subprocess.run(
                [MOTLEY, *args],
                capture_output=True,
                text=True,
                timeout=60,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)),
            )

        found = {run(size << 20, "op", "invert", wide, self.path("o.png")).stderr for size in range(16, 46, 3)}
        self.assertIn(f"motley: {wide}: no memory to read a PNG\n", found)
        self.assertNotIn("damaged", "".join(found))

        apply = "apply", "trivial_augment_wide", small, "-t", "1", "-o", self.path("out")
        too_little, enough = 8 << 20, 64 << 20
        while enough - too_little > 16384:
            middle = (too_little + enough) // 2
            if run(middle, *apply).returncode:
                too_little = middle
            else:
                enough = middle
        self.assertEqual(
            run(too_little, *apply).stderr, f"motley: {self.path('out/small-0.png')}: no memory to write a PNG\n"
        )


class Output(Case):
    def test_output_that_cannot_be_written(self):
        path = self.image()
        (self.dir / "folder").mkdir()
        self.assertIn("folder: Is a directory", self.bad("op", "invert", path, self.path("folder")))
        self.assertIn("No such file", self.bad("op", "invert", path, self.path("absent/out.png")))
        self.good("op", "invert", path, "/dev/null")  # a device is written, not replaced
        self.assertTrue(pathlib.Path("/dev/null").is_char_device())
        self.assertTrue(pathlib.Path("/dev/null").is_char_device())
        self.assertIn("Not a directory", self.bad("apply", "rand_augment", path, "--out", path))
        self.assertIn(
            "absent/out: No such file", self.bad("apply", "rand_augment", path, "--out", self.path("absent/out"))
        )
        for option in ("--sheet", "--draws"):
            self.assertIn("No such file", self.bad("apply", "rand_augment", path, option, self.path("absent/file")))
        self.assertEqual(self.leftovers(), [])

    def test_links_are_followed(self):
        path, folder = self.image(), self.dir / "folder"
        folder.mkdir()
        (folder / "real.png").write_bytes(b"old")
        os.symlink("folder/real.png", self.path("link.png"))
        self.good("op", "invert", path, self.path("link.png"))
        self.assertTrue(os.path.islink(self.path("link.png")))
        self.assertEqual(self.read("folder/real.png"), self.read("link.png"))

        with open(self.path("draws"), "w+") as file:  # as /dev/stdout is, if it is redirected to a file
            os.symlink(f"/proc/self/fd/{file.fileno()}", self.path("stdout"))
            args = "apply", "rand_augment", path, "--draws", self.path("stdout")
            self.run_motley(*args, pass_fds=[file.fileno()])
            self.assertEqual(json.loads((self.dir / "draws").read_text())["sample"], 0)
            os.unlink(self.path("draws"))
        with open(self.path("draws"), "w+") as file:
            os.unlink(self.path("draws"))
            os.unlink(self.path("stdout"))
            os.symlink(f"/proc/self/fd/{file.fileno()}", self.path("stdout"))
            self.run_motley(*args, pass_fds=[file.fileno()])
            self.assertEqual(json.load(file)["sample"], 0)
        self.assertTrue(os.path.islink(self.path("stdout")))
        self.assertEqual(self.leftovers(), [])

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_a_folder_that_is_not_writable(self):
        path, out = self.image(), self.dir / "out"
        out.mkdir(mode=0o555)
        self.assertIn("Permission denied", self.bad("apply", "rand_augment", path, "--out", out))

    @unittest.skipIf(COUNTED, "line counters write files, too")
    def test_a_full_disk_leaves_the_old_file(self):
        path, out = self.image("big.png", 300, 300), self.file("out.png", b"old")

        def limit():
            import resource

            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

        done = self.run_motley("op", "invert", path, out, status=1, preexec_fn=limit)
        self.assertEqual(done.stderr, f"motley: {out}: File too large\n")
        self.assertEqual(pathlib.Path(out).read_bytes(), b"old")
        done = self.run_motley(
            "apply", "rand_augment", path, "-k", "60", "--draws", self.path("d.jsonl"), status=1, preexec_fn=limit
        )
        self.assertIn("d.jsonl: File too large", done.stderr)
        self.assertFalse(os.path.exists(self.path("d.jsonl")))
        self.assertEqual(self.leftovers(), [])

    def test_standard_output_that_cannot_be_written(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([MOTLEY, "ops"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stderr), (1, "motley: standard output: No space left on device\n"))
        for args in (["--version"], ["draw", "rand_augment", "-N", "100000"]):
            reader, writer = os.pipe()
            os.close(reader)
            done = subprocess.run([MOTLEY, *args], stdout=writer, stderr=subprocess.PIPE, text=True, timeout=20)
            os.close(writer)
            self.assertEqual((done.returncode, done.stderr), (1, ""))  # as with `| head`: it is no news

    def test_an_interrupted_run_leaves_no_partial_file(self):
        path = self.image("big.png", 160, 160)
        for turn in range(4 if SANITIZED else 12):
            number = signal.SIGINT if turn % 2 else signal.SIGTERM
            run = subprocess.Popen(
                [
                    MOTLEY,
                    "apply",
                    "rand_augment",
                    path,
                    "-k",
                    "30000",
                    "--out",
                    self.path("out"),
                    "-t",
                    "4",
                    "--draws",
                    self.path("d.jsonl"),
                ],
                stderr=subprocess.DEVNULL,
            )
            deadline = time.monotonic() + 30
            while not list(self.dir.glob("out/big-*.png")) and time.monotonic() < deadline:
                time.sleep(0.01)
            run.send_signal(number)
            self.assertEqual(run.wait(30), -number)
            self.assertEqual(self.leftovers(), [])
            self.assertFalse(os.path.exists(self.path("d.jsonl")))
            for file in self.dir.glob("out/*.png"):
                self.assertTrue(file.read_bytes().endswith(chunk(b"IEND", b"")))
            shutil.rmtree(self.path("out"))

    def test_written_files_have_the_usual_mode(self):
        self.good("op", "invert", self.image(), self.path("out.png"))
        mask = os.umask(0)
        os.umask(mask)
        self.assertEqual(os.stat(self.path("out.png")).st_mode & 0o777, 0o666 & ~mask)

    def test_progress_on_a_terminal_only(self):
        path = self.image("big.png", 1500, 1500)
        try:
            terminal, side = pty.openpty()
        except OSError as error:  # a container without /dev/pts
            self.skipTest(f"no terminal here: {error}")
        run = subprocess.Popen(
            [
                MOTLEY,
                "apply",
                "rand_augment",
                path,
                "-k",
                "12",
                "--out",
                self.path("out"),
                "--threads",
                "1",
            ],  # which takes more than a second
            stderr=side,
        )
        os.close(side)
        shown = b""
        while True:
            try:
                data = os.read(terminal, 4096)
            except OSError:  # the other side was closed
                break
            if not data:
                break
            shown += data
        os.close(terminal)
        self.assertEqual(run.wait(60), 0)
        self.assertRegex(shown.decode(), r"augmenting \[#* *\] \d+ of 12, \d+ s left")
        self.assertTrue(shown.endswith(b"\r\x1b[K"))  # and gone at the end


if __name__ == "__main__":
    unittest.main()
