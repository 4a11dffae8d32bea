# SPDX-License-Identifier: Apache-2.0
"""Built-in policies, and transforms with views, end to end: what was drawn, replayed through torchvision's, timm's and
Pillow's own functions on PIL images, gives the bytes that the library and the motley command give; and what was drawn
is what those policies can draw."""

import json
import os
import subprocess
import sys
import tempfile

import harness
from harness import INTERPOLATION_NAMES, LAYOUT_NAMES, Test, notes
from library import BICUBIC, BILINEAR, LAYOUTS, Placed

import numpy as np

import images
import recipes
from replay import Timm, Torchvision

REFUSE_ALPHA = {"auto_contrast", "equalize", "invert", "posterize", "solarize", "solarize_add"}  # in Pillow or timm
SIZES = [(32, 32), (224, 224), (33, 48), (97, 61), (64, 17), (1, 1), (5, 2), (150, 100)]


def as_json(step):
    """A motley_step as `motley draw` prints it."""
    name = harness.library.op_names[step.op]
    return {
        "op": name,
        "value": step.values[0] if step.values_count else None,
        "level": step.level,
        "interpolation": INTERPOLATION_NAMES[step.interpolation],
        "fill": list(step.fill),
    }


def read_steps(line):
    """A line of `motley draw`, with what it leaves out."""
    return [{"value": None, "interpolation": "nearest", "fill": [0, 0, 0, 0], **step} for step in line["steps"]]


def motley(*arguments):
    ran = subprocess.run([harness.options.cli, *map(str, arguments)], capture_output=True, text=True)
    assert ran.returncode == 0, f"motley {arguments}: {ran.stderr}"
    return ran.stdout


class Replay(Test):
    def replays(self, profile):
        """(name of a built-in, the object that replays it) for all built-ins of a profile"""
        found = []
        for name in harness.library.builtins():
            policy = harness.library.policy(name)
            # test_augmix.py replays the first; torchvision's policies have no flips and blurs.
            left_out = name.endswith("augmix") or name == "trivial_augment_bands"
            if policy.profile == profile and not left_out:
                found.append((name, (Torchvision if profile == "torchvision" else Timm).of_builtin(name)))
            policy.close()
        self.assertTrue(found, f"no built-in has the profile {profile}")
        return found

    def check(self, policy, replay, modes):
        """Checks many draws of `policy`, and replays some on images of each mode, a number of channels."""
        draws = policy.draw(100000 if harness.options.thorough else replay.DRAWS, 331, 224, 3, seed=77)
        for steps in draws:
            replay.check([as_json(step) for step in steps], 331, 224)
        first = 0  # every batch has different samples, so that no draw occurs twice
        for channels in modes:
            for number, (width, height) in enumerate(SIZES):
                r = np.random.default_rng([harness.options.seed, number, channels])
                count = (150 if harness.options.thorough else 10) // (1 if width * height < 12000 else 3)
                for seed in harness.sweep(range(4), "batches of a policy, mode and size"):
                    with self.subTest(policy=policy.name, mode=recipes.MODES[channels], size=(width, height)):
                        arrays = [images.make(r, r.choice(images.KINDS), width, height, channels) for _ in range(count)]
                        self.replay_batch(policy, replay, arrays, seed, first)
                    first += count
        self.report(policy.name, replay)
        policy.close()

    def replay_batch(self, policy, replay, arrays, seed, first):
        height, width, channels = arrays[0].shape
        for turn, (backend, context) in enumerate(harness.contexts.items()):
            src = dst = [Placed(a, LAYOUTS[LAYOUT_NAMES[(seed + turn) % 6]]) for a in arrays]
            if (seed + turn) % 2 == 0:  # else in place
                dst = [Placed(np.zeros_like(a), LAYOUTS[LAYOUT_NAMES[seed % 6]]) for a in arrays]
            drawn = context.apply(policy, src, dst, seed=seed, epoch=turn, first=first)
            for i, steps in enumerate(drawn):
                steps = [as_json(step) for step in steps]
                replay.check(steps, width, height)
                if channels == 4 and any(step["op"] in REFUSE_ALPHA for step in steps):
                    continue
                want = recipes.to_array(replay.run(recipes.to_pil(arrays[i]), steps))
                self.same_bytes(
                    dst[i].view, want, f"{policy.name} {backend} seed {seed} epoch {turn} sample {first + i}: {steps}"
                )

    def report(self, name, replay):
        differs = getattr(replay, "table_differs", {})
        for (op, ours), (torchs, steps) in sorted(differs.items()):
            notes.append(
                f"{name}: {op} {ours!r} of our table is {torchs!r} in torch's on this CPU (its linspace "
                f"rounds by kernel); {steps} steps were replayed with ours"
            )
        if differs:
            notes.append(f"{name}: {len(differs)} (op, value) pairs differ in torch's table")
        for op, levels in sorted(getattr(replay, "levels", {}).items()):
            # normal(9, 0.5) cut at 10, some 700 of them: four deviations of the estimate
            self.assertAlmostEqual(np.mean(levels), 8.996, delta=0.075, msg=f"{name}: mean level of {op}")
            self.assertAlmostEqual(np.std(levels), 0.49, delta=0.053, msg=f"{name}: spread of {op}'s level")

    def test_torchvision(self):
        """every built-in of the torchvision profile, through _apply_op"""
        try:
            import torchvision
        except ImportError as missing:
            self.skipTest(f"{missing}: install python3-torchvision")
        notes.append(f"torchvision {torchvision.__version__}")
        for name, replay in self.replays("torchvision"):
            self.check(harness.library.policy(name), replay, [3, 1, 4])

    def test_torchvision_with_arguments(self):
        """other numbers of ops, magnitudes, interpolations and fills than the built-ins have"""
        try:
            from torchvision.transforms import InterpolationMode, autoaugment
        except ImportError as missing:
            self.skipTest(f"{missing}: install python3-torchvision")
        for name, transform, changes in [
            ("rand_augment", autoaugment.RandAugment(3, 17), {"repeat": 3, "level": 17}),
            ("rand_augment", autoaugment.RandAugment(1, 4, 10), {"repeat": 1, "level": 4, "bins": 10}),
            ("trivial_augment_wide", autoaugment.TrivialAugmentWide(), {}),
            ("auto_augment_svhn", autoaugment.AutoAugment(autoaugment.AutoAugmentPolicy.SVHN), {}),
        ]:
            for interpolation, fill in (BILINEAR, (128, 128, 128, 128)), (BICUBIC, (1, 20, 255, 7)):
                changes.update(interpolation=INTERPOLATION_NAMES[interpolation], fill=fill)
                transform.interpolation = InterpolationMode(INTERPOLATION_NAMES[interpolation])
                transform.fill = list(fill[:3])
                self.check(harness.library.policy(name, **changes), Torchvision(transform), [3])

    def test_timm(self):
        """every built-in of the timm profile, through timm's functions"""
        if not Timm.load():
            self.skipTest("timm is missing: scripts/setup.sh tests installs it in .venv")
        notes.append(f"timm {Timm.version}")
        for name, replay in self.replays("timm"):
            self.check(harness.library.policy(name), replay, [3, 4])

    def test_command(self):
        """motley apply on PNG files against motley draw and its own --draws, replayed"""
        if not harness.options.cli:
            self.skipTest("--cli is missing: the path of the motley program")
        replays = []
        try:
            import torchvision

            notes.append(f"test_command with torchvision {torchvision.__version__}")
            replays += self.replays("torchvision")
        except ImportError:
            notes.append("test_command ran without torchvision")
        if Timm.load():
            replays += self.replays("timm")
        if not replays:
            self.skipTest("neither torchvision nor timm is there")
        for name, replay in replays:
            with self.subTest(policy=name):
                self.command(name, replay)

    def command(self, name, replay):
        r = np.random.default_rng(harness.options.seed)
        variants = 40 if harness.options.thorough else 4
        with tempfile.TemporaryDirectory() as folder:
            arrays, paths = [], []
            for i, (width, height) in enumerate(SIZES):
                arrays.append(images.make(r, images.KINDS[i], width, height, 3))
                paths.append(os.path.join(folder, f"{i}.png"))
                recipes.to_pil(arrays[i]).save(paths[i])
            draws = os.path.join(folder, "draws.jsonl")
            motley(
                "apply",
                name,
                *paths,
                "--out",
                os.path.join(folder, "out"),
                "--seed",
                5,
                "--epoch",
                2,
                "--variants",
                variants,
                "--draws",
                draws,
            )
            lines = [json.loads(line) for line in open(draws)]
            self.assertEqual([line["sample"] for line in lines], list(range(len(SIZES) * variants)))
            for line in lines:
                i = line["sample"] // variants
                self.assertEqual(line["image"], paths[i])
                steps = read_steps(line)
                replay.check(steps, *SIZES[i])
                got = recipes.to_array(recipes.Image.open(line["out"]))
                want = recipes.to_array(replay.run(recipes.to_pil(arrays[i]), steps))
                self.same_bytes(got, want, f"motley apply {name}: {line}")
            for i, (width, height) in enumerate(SIZES):  # draw prints the same without touching pixels
                out = motley(
                    "draw",
                    name,
                    "--samples",
                    variants,
                    "--first",
                    i * variants,
                    "--seed",
                    5,
                    "--epoch",
                    2,
                    "--size",
                    f"{width}x{height}",
                )
                drawn = [json.loads(line)["steps"] for line in out.splitlines()]
                self.assertEqual(drawn, [line["steps"] for line in lines[i * variants : (i + 1) * variants]])
                policy = harness.library.policy(name)
                expected = policy.draw(variants, width, height, 3, seed=5, epoch=2, first=i * variants)
                policy.close()
                self.assertEqual(
                    [[(s["op"], s.get("value")) for s in steps] for steps in drawn],
                    [[(s["op"], s["value"]) for s in map(as_json, steps)] for steps in expected],
                )


class Views(Test):
    """Transforms with views through the command: each result, stage by stage from its recorded draw, in Pillow."""

    def ordered(self, text):
        """A text whose stages resize in the order of this Pillow's passes."""
        version = tuple(int(part) for part in harness.PIL.__version__.split(".")[:2])
        order = "pillow-13" if version >= (13, 0) else "pillow-12.2" if version >= (12, 2) else "pillow-12"
        for stages in [text.get("stages", []), *(view["stages"] for view in text["views"])]:
            for stage in stages:
                for kind in {"random_resized_crop", "resize"} & stage.keys():
                    stage[kind]["order"] = order
        return json.dumps(text)

    def replayed(self, picture, line):
        """What a draw makes of a picture; None where it blurs by a kernel, which is torch's."""
        crop, size = line["crop"], line["resize"]
        left, top = crop["left"], crop["top"]
        picture = picture.crop((left, top, left + crop["width"], top + crop["height"]))
        how = getattr(recipes.Image.Resampling, size["filter"].upper())
        picture = picture.resize((size["width"], size["height"]), how)
        self.assertEqual(line["window"], {"left": 0, "top": 0, "width": size["width"], "height": size["height"]})
        if line["flip"]["horizontal"]:
            picture = picture.transpose(recipes.Image.Transpose.FLIP_LEFT_RIGHT)
        if line["flip"]["vertical"]:
            picture = picture.transpose(recipes.Image.Transpose.FLIP_TOP_BOTTOM)
        for step in read_steps(line):
            if step["op"] == "kernel_blur":
                return None
            if step["op"] == "hue":
                picture = self.adjust_hue(picture, step["value"])
            else:
                picture = recipes.stepped(picture, step)
        return picture

    def test_views(self):
        """every built-in with views, of small and large images, in an epoch of each part of a schedule"""
        if not harness.options.cli:
            self.skipTest("--cli is missing: the path of the motley program")
        try:
            from torchvision.transforms import functional
        except ImportError as missing:
            self.skipTest(f"{missing}: install python3-torchvision")
        self.adjust_hue = functional.adjust_hue
        names = [row["name"] for row in json.loads(motley("transforms", "--json")) if row["views"]]
        self.assertGreater(len(names), 15)
        for name in names:
            text = json.loads(motley("show", name, "--json"))
            for epoch in (0, 300, 453) if "epochs" in text else (0,):
                with self.subTest(transform=name, epoch=epoch):
                    self.check(name, self.ordered(text), epoch)

    def check(self, name, text, epoch):
        r = np.random.default_rng([harness.options.seed, epoch])
        shared, compared = {}, set()
        with tempfile.TemporaryDirectory() as folder:
            paths, pictures = [], []
            for i, (width, height) in enumerate([(320, 240), (97, 161), (40, 30)]):
                pictures.append(recipes.to_pil(images.make(r, images.KINDS[i], width, height, 3)))
                paths.append(os.path.join(folder, f"{i}.png"))
                pictures[i].save(paths[i])
            draws, variants = os.path.join(folder, "draws.jsonl"), 3
            motley(
                "apply",
                text,
                *paths,
                "--out",
                os.path.join(folder, "out"),
                "--seed",
                8,
                "--epoch",
                epoch,
                "--variants",
                variants,
                "--draws",
                draws,
            )
            for line in map(json.loads, open(draws)):
                picture = shared.get(line["sample"], pictures[line["sample"] // variants])
                made = self.replayed(picture, line)
                if line["view"] == "":
                    shared[line["sample"]] = made
                elif made:
                    self.same_bytes(
                        recipes.to_array(recipes.Image.open(line["out"])),
                        recipes.to_array(made),
                        f"motley apply {name}: {line}",
                    )
                    compared.add(line["view"])
        self.assertEqual(compared, {view["name"] for view in json.loads(text)["views"]})


if __name__ == "__main__":
    sys.exit(harness.main())
