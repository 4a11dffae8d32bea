# SPDX-License-Identifier: Apache-2.0
"""Whole transforms against torchvision and timm: every value of the tensor equal, on every CPU backend. From a torch
seed by draws in, and from our own draws by replaying them. With --thorough it is over 10,000 images of each."""

import random
import sys

import harness
import recipes
from harness import Test
from library import DTYPES, LAYOUTS, STEP_HUE, STEP_KERNEL_BLUR, Crop, Drawn, Failed, Placed, Step, Transform

import numpy as np
import PIL
from PIL import Image

import images
from replay import Torchvision

try:
    import torch
    import torchvision
    from torchvision.transforms import InterpolationMode, autoaugment, functional, transforms
except ImportError as missing:
    print(f"SKIPPED, nothing was tested: {missing} (sys.executable {sys.executable})")
    sys.exit(harness.SKIPPED)

VERSION = tuple(int(part) for part in PIL.__version__.split(".")[:2])
ORDER = "pillow-13" if VERSION >= (13, 0) else "pillow-12.2" if VERSION >= (12, 2) else "pillow-12"
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
RESAMPLING = [Image.BILINEAR, Image.BICUBIC, Image.LANCZOS, Image.NEAREST, Image.BOX, Image.HAMMING]  # motley_filter
MODES = [InterpolationMode.BILINEAR, InterpolationMode.BICUBIC]
TRAIN = """motley: 1
name: train
stages:
  - random_resized_crop: {{size: {size}, filter: {filter}, order: {order}}}
  - flip: {{horizontal: 0.5}}
{more}  - output: {{mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]}}
  - erase: {{p: {erase}}}
"""


def op_step(name, value=None, interpolation=0, fill=None):
    step = Step(op=harness.library.op_names.index(name), interpolation=interpolation)
    if value is not None:
        step.values[0], step.values_count = value, 1
    if fill is not None:
        step.fill[:] = fill
    return step


def hue_step(value):
    step = Step(op=STEP_HUE, values_count=1)
    step.values[0] = value
    return step


def kernel_step(sigma, size):
    step = Step(op=STEP_KERNEL_BLUR, values_count=2)
    step.values[0], step.values[1] = sigma, size
    return step


def whole(array):
    height, width, _ = array.shape
    drawn = Drawn(width=width, height=height, result_width=width, result_height=height)
    drawn.crop = Crop(0, 0, width, height)
    return drawn


def torch_kernels(size, sigma):
    """v1's and v2's weights, by this torch's own exp and softmax."""
    half, narrow = (size - 1) * 0.5, (size - 1) / (2 * 2**0.5)
    v1 = torch.exp(-0.5 * (torch.linspace(-half, half, size) / sigma).pow(2))
    v2 = torch.softmax((torch.linspace(-narrow, narrow, size) / sigma).pow(2).neg(), 0)
    return {"v1": v1 / v1.sum(), "v2": v2}


def motley_kernel(size, sigma):
    """What MOTLEY_STEP_KERNEL_BLUR documents: v1's weights, exp rounded to binary32, torch's order of the sum."""
    f = np.float32
    x = np.arange(-(size // 2), size // 2 + 1).astype(f) / f(sigma)
    value = np.exp((f(-0.5) * (x * x)).astype(np.float64)).astype(f)
    lanes = 4 if size < 8 else 8
    whole = size // lanes * lanes
    lane = np.zeros(lanes, f)
    for i in range(0, whole, lanes):
        lane += value[i : i + lanes]
    first, rest = (lane[:1], lane[1:]) if size < 8 else (lane[:0], lane)
    total = f(0)
    for v in [*first, *value[whole:], *rest]:
        total += v
    return value / total


class Transforms(Test):
    def make(self, text):
        transform = Transform(harness.library, text)
        self.addCleanup(transform.close)
        again = Transform(harness.library, transform.printed())
        self.assertEqual(again.printed(), transform.printed())
        again.close()
        return transform

    def same_floats(self, got, want, what):
        harness.counts["images"] += 1
        harness.counts["pixels"] += want.size // want.shape[0]
        if not np.array_equal(got.view(np.uint8), np.ascontiguousarray(want).view(np.uint8)):
            self.assertEqual(got.shape, want.shape, what)
            bad = np.argwhere(got != want)
            self.fail(
                f"{what}: {len(bad)} of {want.size} values differ, the first at {bad[:1].tolist()}: "
                f"got {got[tuple(bad[0])]}, want {want[tuple(bad[0])]}"
                if len(bad)
                else f"{what}: bits differ"
            )

    def photograph(self, r):
        width, height = int(r.integers(20, 400)), int(r.integers(20, 400))
        return images.make(r, r.choice(images.KINDS), width, height, 3)

    # ---- torchvision, from a torch seed ----

    def torch_draws(self, replayer, picture, size, interpolation, jitter, erase):
        """What the recipe draws, in its order, as Motley's draws in."""
        drawn = Drawn(width=size, height=size, result_width=size, result_height=size, filter=MODES.index(interpolation))
        top, left, height, width = transforms.RandomResizedCrop.get_params(picture, [0.08, 1.0], [3 / 4, 4 / 3])
        drawn.crop = Crop(left, top, width, height)
        drawn.flip_horizontal = bool(torch.rand(1) < 0.5)
        steps = []
        policy = replayer.policy if replayer else None
        if isinstance(policy, autoaugment.TrivialAugmentWide):
            space = policy._augmentation_space(policy.num_magnitude_bins)
            steps.append(self.torch_op(replayer, space, None))
        elif isinstance(policy, autoaugment.RandAugment):
            space = policy._augmentation_space(policy.num_magnitude_bins, (size, size))
            steps += [self.torch_op(replayer, space, policy.magnitude) for _ in range(policy.num_ops)]
        if jitter:
            order, *factors = transforms.ColorJitter.get_params(
                jitter.brightness, jitter.contrast, jitter.saturation, jitter.hue
            )
            names = ["brightness", "contrast", "color", None]
            for which in order.tolist():
                if factors[which] is not None:
                    steps.append(op_step(names[which], factors[which]) if names[which] else hue_step(factors[which]))
        if erase and torch.rand(1) < erase:
            blank = torch.zeros(3, size, size)
            x, y, h, w, v = transforms.RandomErasing.get_params(blank, (0.02, 0.33), (0.3, 3.3), [0.0])
            if v is not blank:
                drawn.boxes_count = 1
                drawn.boxes[0] = Crop(y, x, w, h)
        return drawn, steps

    def torch_op(self, replayer, space, magnitude):
        name = list(space)[int(torch.randint(len(space), (1,)))]
        magnitudes, signed = space[name]
        if magnitude is None:
            value = 0.0
            if magnitudes.ndim:
                value = float(magnitudes[torch.randint(len(magnitudes), (1,), dtype=torch.long)])
        else:
            value = float(magnitudes[magnitude]) if magnitudes.ndim else 0.0
        if signed and torch.randint(2, (1,)):
            value *= -1.0
        ours = {v: k for k, v in replayer.NAMES.items()}[name]
        return op_step(ours, replayer.value(name, value) if magnitudes.ndim else None)

    def test_torchvision_from_a_seed(self):
        """crop, flip, TrivialAugmentWide or RandAugment, jitter, normalise, erase: the tensor of torch.manual_seed"""
        rounds = 400 if harness.options.thorough else 6
        for turn in range(rounds):
            r = np.random.default_rng([harness.options.seed, turn])
            size, interpolation = [96, 160, 224][turn % 3], MODES[turn % 2]
            policy = [autoaugment.TrivialAugmentWide, autoaugment.RandAugment, None][turn // 2 % 3]
            replayer = Torchvision(policy()) if policy else None
            jitter = transforms.ColorJitter(0.4, 0.4, 0.4, 0.1) if turn % 2 else None
            more = {
                autoaugment.TrivialAugmentWide: "  - policy: trivial_augment_wide\n",
                autoaugment.RandAugment: "  - policy: rand_augment\n",
                None: "",
            }[policy]
            if jitter:
                more += "  - jitter: {brightness: 0.4, contrast: 0.4, saturation: 0.4, hue: 0.1}\n"
            if not more:
                more = "  - grayscale: {p: 0}\n"
            transform = self.make(
                TRAIN.format(size=size, filter=["bilinear", "bicubic"][turn % 2], order=ORDER, more=more, erase=0.25)
            )
            recipe = transforms.Compose(
                [
                    transforms.RandomResizedCrop(size, interpolation=interpolation),
                    transforms.RandomHorizontalFlip(),
                    *([replayer.policy] if replayer else []),
                    *([jitter] if jitter else []),
                    transforms.ToTensor(),
                    transforms.Normalize(MEAN, STD),
                    transforms.RandomErasing(0.25),
                ]
            )
            arrays = [self.photograph(r) for _ in range(26)]
            wanted, given = [], ([], [])
            for i, a in enumerate(arrays):
                picture = recipes.to_pil(a)
                torch.manual_seed(turn * 1000 + i)
                wanted.append(recipe(picture).numpy())
                torch.manual_seed(turn * 1000 + i)
                drawn, steps = self.torch_draws(replayer, picture, size, interpolation, jitter, 0.25)
                given[0].append(drawn)
                given[1].append(steps)
            for backend, context in harness.contexts.items():
                if backend == "reference" and turn % 3:
                    continue  # it takes long
                out, _, _ = transform.apply(context, [Placed(a, LAYOUTS["packed"]) for a in arrays], given=given)
                for i, want in enumerate(wanted):
                    self.same_floats(
                        out[i],
                        want,
                        f"torch.manual_seed({turn * 1000 + i}), round {turn}, {backend}, "
                        f"steps {[(s.op, s.values[0]) for s in given[1][i]]}",
                    )

    # ---- timm, from Python's and torch's seeds ----

    def test_timm_from_a_seed(self):
        """timm's crop with a drawn filter, flips, jitter, normalise, erasing, from random.seed and torch.manual_seed"""
        try:
            from timm.data.random_erasing import RandomErasing
            from timm.data.transforms import RandomResizedCropAndInterpolation
        except ImportError as missing:
            self.skipTest(str(missing))
        rounds = 400 if harness.options.thorough else 4
        for turn in range(rounds):
            r = np.random.default_rng([harness.options.seed, 1, turn])
            boxes = 1 + turn % 3
            transform = self.make(
                TRAIN.format(
                    size=[128, 224][turn % 2],
                    filter="[bilinear, bicubic]",
                    order=ORDER,
                    erase=0.5,
                    more="  - jitter: {brightness: 0.4, contrast: 0.4, saturation: 0.4}\n",
                ).replace(
                    "{p: 0.5}",
                    "{p: 0.5, area: [0.02, 0.3333333333333333], ratio: [0.3, 3.3333333333333335], "
                    f"boxes: [1, {max(2, boxes)}]}}",
                )
            )
            size = transform.info.width
            crop = RandomResizedCropAndInterpolation(size, interpolation="random")
            flips = [transforms.RandomHorizontalFlip(0.5), transforms.RandomVerticalFlip(0.5)]
            jitter = transforms.ColorJitter(0.4, 0.4, 0.4)
            erasing = RandomErasing(0.5, mode="const", max_count=boxes, device="cpu")
            finish = transforms.Compose([transforms.ToTensor(), transforms.Normalize(MEAN, STD)])
            arrays = [self.photograph(r) for _ in range(26)]
            wanted, given = [], ([], [])
            for i, a in enumerate(arrays):
                picture, seed = recipes.to_pil(a), turn * 1000 + i
                random.seed(seed), torch.manual_seed(seed)
                image = jitter(flips[1](flips[0](crop(picture))))
                wanted.append(erasing(finish(image)).numpy())
                random.seed(seed), torch.manual_seed(seed)
                top, left, height, width = crop.get_params(picture, crop.scale, crop.ratio)
                chosen = random.choice(crop.interpolation)
                if width == 0 or height == 0:
                    continue
                mode = getattr(chosen, "value", chosen)
                drawn = Drawn(
                    width=size,
                    height=size,
                    result_width=size,
                    result_height=size,
                    filter={"bilinear": 0, "bicubic": 1, 2: 0, 3: 1}[mode],
                )
                drawn.crop = Crop(left, top, width, height)
                drawn.flip_horizontal, drawn.flip_vertical = bool(torch.rand(1) < 0.5), bool(torch.rand(1) < 0.5)
                order, *factors = transforms.ColorJitter.get_params(
                    jitter.brightness, jitter.contrast, jitter.saturation, jitter.hue
                )
                steps = [op_step(["brightness", "contrast", "color"][k], factors[k]) for k in order.tolist() if k < 3]
                self.timm_boxes(erasing, drawn, size)
                given[0].append(drawn)
                given[1].append(steps)
            for backend, context in harness.contexts.items():
                out, _, _ = transform.apply(context, [Placed(a, LAYOUTS["planar"]) for a in arrays], given=given)
                for i, want in enumerate(wanted):
                    self.same_floats(out[i], want, f"timm, random.seed({turn * 1000 + i}), {backend}")

    @staticmethod
    def timm_boxes(erasing, drawn, size):
        """timm's RandomErasing, of which only the numbers are wanted."""
        import math

        if random.random() > erasing.probability:
            return
        count = (
            erasing.min_count
            if erasing.min_count == erasing.max_count
            else random.randint(erasing.min_count, erasing.max_count)
        )
        for _ in range(count):
            for _ in range(10):
                area = random.uniform(erasing.min_area, erasing.max_area) * size * size / count
                ratio = math.exp(random.uniform(*erasing.log_aspect_ratio))
                h, w = int(round(math.sqrt(area * ratio))), int(round(math.sqrt(area / ratio)))
                if w < size and h < size:
                    top, left = random.randint(0, size - h), random.randint(0, size - w)
                    drawn.boxes[drawn.boxes_count] = Crop(left, top, w, h)
                    drawn.boxes_count += 1
                    break

    # ---- our own draws, replayed ----

    def replay(self, picture, drawn, steps):
        c = drawn.crop
        picture = picture.crop((c.left, c.top, c.left + c.width, c.top + c.height))
        picture = picture.resize((drawn.width, drawn.height), RESAMPLING[drawn.filter])
        if drawn.flip_horizontal:
            picture = functional.hflip(picture)
        if drawn.flip_vertical:
            picture = functional.vflip(picture)
        for step in steps:
            if step.op == STEP_HUE:
                picture = functional.adjust_hue(picture, step.values[0])
            else:
                name = harness.library.op_names[step.op]
                recipe = recipes.RECIPES[name][0]
                values = tuple(step.values[: step.values_count])
                picture = recipe(picture, values, recipes.FILTERS[step.interpolation], tuple(step.fill[:3]))
        return picture

    def test_own_draws_replayed(self):
        """SimCLR's stages, several policies and an inline one: what was drawn, done by Pillow and torchvision"""
        text = (
            """motley: 1
name: own
stages:
  - random_resized_crop:
      {size: [120, 90], scale: [0.05, 0.9], filter: [bilinear, bicubic, lanczos, hamming, box], order: %s}
  - flip: {horizontal: 0.5, vertical: 0.3}
  - policy: {name: rand_augment, repeat: 1, level: 20, interpolation: bilinear}
  - jitter: {p: 0.8, brightness: 0.8, contrast: 0.8, saturation: 0.8, hue: 0.2}
  - grayscale: {p: 0.2}
  - policy:
      repeat: 1
      branches: [invert, {op: rotate, value: 30}, equalize]
  - blur: {p: 0.5, radius: [0.1, 2]}
  - output: {mean: [0.5, 0.4, 0.3], std: [0.2, 0.3, 0.4], convention: torchvision_v2}
"""
            % ORDER
        )
        transform = self.make(text)
        mean, std = torch.tensor([0.5, 0.4, 0.3])[:, None, None], torch.tensor([0.2, 0.3, 0.4])[:, None, None]

        def finish(picture):
            values = torch.from_numpy(np.array(picture)).permute(2, 0, 1).float() * np.float32(1 / 255)
            return (values - mean) / std

        for turn in range(40 if harness.options.thorough else 3):
            r = np.random.default_rng([harness.options.seed, 2, turn])
            arrays = [self.photograph(r) for _ in range(30)]
            drawn, steps = transform.draw([a.shape[1::-1] for a in arrays], 3, seed=turn, epoch=3, first=70)
            wanted = [finish(self.replay(recipes.to_pil(a), d, s)).numpy() for a, d, s in zip(arrays, drawn, steps)]
            for backend, context in harness.contexts.items():
                out, reported, reported_steps = transform.apply(
                    context, [Placed(a, LAYOUTS["bottom_up"]) for a in arrays], seed=turn, epoch=3, first=70
                )
                for i, want in enumerate(wanted):
                    self.same_floats(out[i], want, f"seed {turn} image {i} {backend}")
                    self.assertEqual(bytes(reported[i]), bytes(drawn[i]))
                    self.assertEqual([bytes(s) for s in reported_steps[i]], [bytes(s) for s in steps[i]])
                again, _, _ = transform.apply(
                    context, [Placed(a, LAYOUTS["loose"]) for a in arrays], given=(reported, reported_steps)
                )
                self.assertEqual(again.tobytes(), out.tobytes(), "the draws given back")

    # ---- evaluation ----

    def test_evaluation(self):
        """resize of the shorter side, centre crop: torchvision's, images smaller than the crop among them"""
        for resize, crop, name, mode in [
            (256, 224, "bilinear", MODES[0]),
            (235, 224, "bicubic", MODES[1]),
            (64, 96, "bicubic", MODES[1]),
        ]:
            transform = self.make(f"""motley: 1
name: eval
stages:
  - resize: {{size: {resize}, filter: {name}, order: {ORDER}}}
  - center_crop: {{size: {crop}}}
""")
            recipe = transforms.Compose([transforms.Resize(resize, interpolation=mode), transforms.CenterCrop(crop)])
            r = np.random.default_rng([harness.options.seed, 3, resize])
            arrays = [self.photograph(r) for _ in range(200 if harness.options.thorough else 20)]
            for backend, context in harness.contexts.items():
                out, _, _ = transform.apply(context, [Placed(a, LAYOUTS["packed"]) for a in arrays], "u8", "hwc")
                for i, a in enumerate(arrays):
                    self.same_bytes(out[i], np.asarray(recipe(recipes.to_pil(a))), f"evaluation {i}, {backend}")

    def test_padded_crop(self):
        """CIFAR's crop: four pixels of black all around, then anywhere"""
        transform = self.make(
            "motley: 1\nname: cifar\nstages:\n  - random_crop: {size: 32, padding: 4}\n  - flip: {horizontal: 0.5}\n"
        )
        r = np.random.default_rng(harness.options.seed)
        arrays = [images.make(r, images.noise, 32, 32, 3) for _ in range(200)]
        places = set()
        for context in harness.contexts.values():
            out, drawn, _ = transform.apply(
                context, [Placed(a, LAYOUTS["packed"]) for a in arrays], "u8", "hwc", seed=5
            )
            for i, (a, d) in enumerate(zip(arrays, drawn)):
                wide = np.pad(a, ((4, 4), (4, 4), (0, 0)))
                want = wide[d.top + 4 : d.top + 36, d.left + 4 : d.left + 36]
                places.add((d.top, d.left))
                self.same_bytes(out[i], want[:, ::-1] if d.flip_horizontal else want, f"image {i}")
        self.assertEqual({top for top, _ in places} | {left for _, left in places}, set(range(-4, 5)))

    # ---- colours, values, types ----

    def test_hue_of_every_colour(self):
        """all 2^24 colours there and back (one shift; the others of a sample)"""
        transform = self.make("motley: 1\nname: hue\nstages:\n  - jitter: {hue: 0.5}\n")
        every = np.arange(1 << 24, dtype=np.uint32).view(np.uint8).reshape(4096, 4096, 4)[..., :3].copy()
        context = harness.contexts["cpu"]
        r = np.random.default_rng(harness.options.seed)
        for shift, part in [
            (0.1, every if harness.options.thorough else every[::7]),
            *((float(np.float32(v)), every[int(r.integers(64)) :: 64]) for v in [0, 0.5, -0.5, 0.003, -0.21, 0.33]),
        ]:
            part = np.ascontiguousarray(part)
            drawn = whole(part)
            out, _, _ = transform.apply(
                context, [Placed(part, LAYOUTS["packed"])], "u8", "hwc", given=([drawn], [[hue_step(shift)]])
            )
            self.same_bytes(out[0], np.asarray(functional.adjust_hue(recipes.to_pil(part), shift)), f"hue {shift}")

    def test_kernel_blur(self):
        """torchvision's GaussianBlur on Pillow images, v1 and v2, by the weights that this torch computes"""
        if not torch.backends.mkldnn.is_available():
            self.skipTest("this torch has no oneDNN, whose order of sums is the one that is matched")
        blurs = {"v1": functional.gaussian_blur}
        try:
            from torchvision.transforms import v2

            blurs["v2"] = v2.functional.gaussian_blur
        except ImportError:
            pass
        transform = self.make("motley: 1\nname: blur\nstages:\n  - blur: {kernel_size: 23, sigma: [0.1, 2]}\n")
        r = np.random.default_rng(harness.options.seed)
        for turn in range(400 if harness.options.thorough else 24):
            size = (3, 5, 9, 23)[turn % 4]
            array = images.make(r, r.choice(images.KINDS), *(int(v) for v in r.integers(size // 2 + 1, 100, 2)), 3)
            sigma = float(np.float32(r.uniform(0.1, 2)))
            for version, blur in blurs.items():
                want = np.asarray(blur(recipes.to_pil(array), [size, size], [sigma, sigma]))
                half = torch_kernels(size, sigma)[version][size // 2 :]
                for backend, context in harness.contexts.items():
                    out, _, _ = transform.apply(
                        context,
                        [Placed(array, LAYOUTS["loose"])],
                        "u8",
                        "hwc",
                        given=([whole(array)], [[kernel_step(sigma, size)]]),
                        kernels=[half],
                    )
                    self.same_bytes(out[0], want, f"{version} kernel {size}, sigma {sigma}, {backend}")

    def test_kernel_blur_of_own_draws(self):
        """draws of a file: sigma uniform, the weights that the header documents"""
        for size, sigma in [(23, [0.1, 2.0]), (5, [0.5, 9.0])]:
            transform = self.make(
                f"motley: 1\nname: blur\nstages:\n  - blur: {{p: 0.5, kernel_size: {size}, sigma: {sigma}}}\n"
            )
            r = np.random.default_rng(harness.options.seed)
            arrays = [images.make(r, images.noise, 40, 24, 3) for _ in range(40)]
            for context in harness.contexts.values():
                placed = [Placed(a, LAYOUTS["packed"]) for a in arrays]
                out, drawn, steps = transform.apply(context, placed, "u8", "hwc", seed=3)
                blurred = [i for i, s in enumerate(steps) if s]
                self.assertTrue(8 < len(blurred) < 32, blurred)
                for i in set(range(40)) - set(blurred):
                    self.same_bytes(out[i], arrays[i], f"image {i}, not blurred")
                kernels = []
                for i in range(40):
                    values = list(steps[i][0].values)[:2] if steps[i] else [1.0, size]
                    self.assertTrue(sigma[0] <= values[0] <= sigma[1] and values[1] == size, values)
                    kernels.append(motley_kernel(size, values[0])[size // 2 :])
                again, _, _ = transform.apply(context, placed, "u8", "hwc", given=(drawn, steps), kernels=kernels)
                self.same_bytes(again, out, "its own weights given")

    def test_conventions_and_types(self):
        """every byte in each library's way of normalising, each type, both layouts"""
        ramp = np.arange(256, dtype=np.uint8).reshape(16, 16, 1).repeat(3, 2)
        v = torch.from_numpy(ramp.copy()).permute(2, 0, 1)
        mean, std = (torch.tensor(x)[:, None, None] for x in (MEAN, STD))
        ways = {
            "torchvision_v1": (v / 255 - mean) / std,
            "torchvision_v2": (v.float() * np.float32(1 / 255) - mean) / std,
            "timm": (v.float() - torch.tensor([x * 255 for x in MEAN])[:, None, None])
            / torch.tensor([x * 255 for x in STD])[:, None, None],
        }
        self.assertTrue(
            torch.equal(ways["torchvision_v1"], functional.normalize(functional.to_tensor(ramp), MEAN, STD))
        )
        for name, want in ways.items():
            transform = self.make(
                f"motley: 1\nname: out\nstages:\n  - output: {{mean: {MEAN}, std: {STD}, convention: {name}}}\n"
            )
            for dtype, kind in [("f32", torch.float32), ("f16", torch.float16), ("bf16", torch.bfloat16)]:
                for layout in "chw", "hwc":
                    for context in harness.contexts.values():
                        out, _, _ = transform.apply(context, [Placed(ramp, LAYOUTS["packed"])], dtype, layout)
                        expected = want.to(kind) if layout == "chw" else want.to(kind).permute(1, 2, 0)
                        bits = expected.contiguous().view(torch.int16 if dtype != "f32" else torch.int32).numpy()
                        self.assertTrue(np.array_equal(out[0].view(bits.dtype), bits), (name, dtype, layout))

    def test_erased_noise(self):
        """random values: one per channel, or one per value, standard normal, by the sample's key"""
        for value in "channel", "pixel":
            transform = self.make(
                "motley: 1\nname: noise\nstages:\n  - output: {mean: 0.5, std: 0.5}\n"
                f"  - erase: {{p: 1, value: {value}, boxes: [2, 3]}}\n"
            )
            a = [np.full((64, 80, 3), 7, np.uint8)] * 60
            results = [
                transform.apply(context, [Placed(x, LAYOUTS["packed"]) for x in a], seed=4)
                for context in harness.contexts.values()
            ]
            self.assertEqual(results[0][0].tobytes(), results[1][0].tobytes())
            out, drawn, _ = results[0]
            plain = np.float32(np.float32(7 / 255) - np.float32(0.5)) / np.float32(0.5)
            values = []
            for image, d in zip(out, drawn):
                erased = np.zeros(image.shape[1:], bool)
                self.assertIn(d.boxes_count, (2, 3))
                for box in d.boxes[: d.boxes_count]:
                    part = image[:, box.top : box.top + box.height, box.left : box.left + box.width]
                    erased[box.top : box.top + box.height, box.left : box.left + box.width] = True
                    last = box is d.boxes[d.boxes_count - 1]
                    if value == "channel" and last:
                        self.assertTrue((part == part[:, :1, :1]).all())
                values.append(image[:, erased] if value == "pixel" else image[:, erased][:, :1])
                self.assertTrue((image[:, ~erased] == plain).all())
            values = np.concatenate([v.ravel() for v in values])
            self.assertLess(abs(values.mean()), 4 / np.sqrt(len(values)))
            self.assertLess(abs(values.std() - 1), 4 / np.sqrt(len(values)))

    # ---- mistakes ----

    def test_refused(self):
        train = self.make(TRAIN.format(size=16, filter="bilinear", order=ORDER, more="", erase=0.1))
        context = harness.contexts["cpu"]
        good = Placed(np.zeros((20, 30, 3), np.uint8), LAYOUTS["packed"])
        with self.assertRaisesRegex(Failed, "erases after normalisation, want dst as F32"):
            train.apply(context, [good], "u8")
        with self.assertRaisesRegex(Failed, "normalises 3 channels, the images have 4"):
            train.apply(context, [Placed(np.zeros((20, 30, 4), np.uint8), LAYOUTS["packed"])])
        drawn = Drawn(width=16, height=16, result_width=16, result_height=16)
        drawn.crop = Crop(20, 0, 11, 5)
        with self.assertRaisesRegex(Failed, r"the given crop of 11x5 at \(20, 0\) leaves the image of 30x20"):
            train.apply(context, [good], given=([drawn], [[]]))
        tiny = Placed(np.full((1, 1, 3), 9, np.uint8), LAYOUTS["packed"])  # one pixel is an image like others
        out, _, _ = train.apply(context, [tiny])
        self.assertTrue(np.isfinite(out).all())
        blur = self.make("motley: 1\nname: blur\nstages:\n  - blur: {kernel_size: 23, sigma: [0.1, 2]}\n")
        small = np.zeros((20, 11, 3), np.uint8)
        with self.assertRaisesRegex(
            Failed, "image 0: 11x20 is too small for a blur by a kernel of 23, want at least 12"
        ):
            blur.apply(context, [Placed(small, LAYOUTS["packed"])], "u8")
        for values, message in [
            ((1, 4), "the kernel's size is 4, want an odd number of 3 to 23"),
            ((1, 25), "the kernel's size is 25"),
            ((0, 5), "value is 0, want 0.001 to 1000"),
            ((float("nan"), 5), "value 0 is nan, want a finite number"),
        ]:
            with self.assertRaisesRegex(Failed, message):
                blur.apply(
                    context, [Placed(small, LAYOUTS["packed"])], "u8", given=([whole(small)], [[kernel_step(*values)]])
                )
        with self.assertRaisesRegex(Failed, "given_kernels is set without given"):
            blur.apply(context, [good], "u8", kernels=[[1]])
        padded = self.make("motley: 1\nname: cifar\nstages:\n  - random_crop: {size: 32, padding: 4}\n")
        with self.assertRaisesRegex(Failed, "30x20 with a padding of 4 is smaller than the random_crop of 32x32"):
            padded.apply(context, [good], "u8")


if __name__ == "__main__":
    print(f"torch {torch.__version__}, torchvision {torchvision.__version__}; types {', '.join(DTYPES)}")
    sys.exit(harness.main())
