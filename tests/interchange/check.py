#!/usr/bin/env python3
"""Weights are exchanged in both directions between gradus and PyTorch as safetensors files, without a conversion, and the logits agree.

    make interchange [PYTHON=python3]         or         check.py LOGITS-PROGRAM MAIN-JOB DECODER-PROGRAM

1. the main job trains a little and saves; its file loads into the PyTorch module of tests/golden/ln_lstm.py with strict=True;
2. PyTorch modules (that one, and nn.LSTM) with random weights save; the files load in gradus.
Each time both compute the logits of 1,000 images: test images of MNIST when $GRADUS_DATA/mnist is there, else noise with blank rows.
3. a decoder of transposed convolutions goes both ways, too; both compute the images of 50 random codes.
Exit 1 when any value differs by more than 1e-5, 2 when torch or safetensors is missing."""
import gzip, os, pathlib, subprocess, sys, tempfile

try:
    import torch
    from safetensors.torch import load_file, save_file
except ImportError as missing:
    print(f"interchange: not run, {missing.name} is missing: pip install torch==2.13.0 numpy safetensors", file=sys.stderr)
    sys.exit(2)
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "golden"))
from ln_lstm import RowReader


class PlainReader(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(28, 128, batch_first=True)
        self.fc = torch.nn.Linear(128, 10)

    def forward(self, x):
        return self.fc(self.lstm(x)[1][0][-1])


def thousand_images():
    folder = pathlib.Path(os.environ.get("GRADUS_DATA", "data")) / "mnist"
    for path, opened in ((folder / "t10k-images-idx3-ubyte.gz", gzip.open), (folder / "t10k-images-idx3-ubyte", open)):
        if path.exists():
            with opened(path, "rb") as f:
                pixels = torch.frombuffer(bytearray(f.read()[16:16 + 784000]), dtype=torch.uint8)
            return "MNIST", pixels.reshape(1000, 28, 28).float() / 255
    images = torch.rand(1000, 28, 28)
    images[:, :5] = 0
    return "noise", images


def compare(name, program, weights, images, net, folder):
    save_file({"images": images}, folder / "images.safetensors")
    subprocess.run([program, weights, folder / "images.safetensors", folder / "logits.safetensors"], check=True)
    with torch.no_grad():
        theirs = net(images)
    worst = (load_file(folder / "logits.safetensors")["logits"] - theirs).abs().max().item()
    print(f"{name}: {len(images)} images, largest logit {theirs.abs().max().item():.2f}, largest difference {worst:.2e}")
    return worst <= 1e-5


def decoder():
    return torch.nn.Sequential(
        torch.nn.ConvTranspose2d(6, 8, 4, stride=2, padding=1), torch.nn.ReLU(), torch.nn.Upsample(scale_factor=2, mode="bilinear"),
        torch.nn.ConvTranspose2d(8, 4, (3, 2), groups=2, stride=2, padding=(1, 0), output_padding=(1, 0), bias=False),
        torch.nn.Upsample((41, 32)), torch.nn.ConvTranspose2d(4, 2, 3, dilation=2, padding=2))


def decode(name, program, way, folder):
    net, weights = decoder(), folder / f"decoder_{way}.safetensors"
    codes = torch.randn(50, 6, 5, 4)
    save_file({"codes": codes}, folder / "codes.safetensors")
    if way == "load":
        save_file(net.state_dict(), weights)
    subprocess.run([program, way, weights, folder / "codes.safetensors", folder / "images.safetensors"], check=True)
    net.load_state_dict(load_file(weights), strict=True)
    with torch.no_grad():
        theirs = net(codes)
    worst = (load_file(folder / "images.safetensors")["images"] - theirs).abs().max().item()
    print(f"{name}: {len(codes)} codes, largest value {theirs.abs().max().item():.2f}, largest difference {worst:.2e}")
    return worst <= 1e-5


program, main_job, decoder_program = sys.argv[1:4]
torch.manual_seed(5)
source, images = thousand_images()
good = True
with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    saved = folder / "ours.safetensors"
    subprocess.run([main_job, "--data", "none", "--steps", "60", "--save", saved, "--quiet"], check=True)
    net = RowReader()
    net.load_state_dict(load_file(saved), strict=True)
    good &= compare(f"gradus -> PyTorch, {source}", program, saved, images, net, folder)
    for kind in (RowReader, PlainReader):
        net = kind()
        save_file(net.state_dict(), folder / "theirs.safetensors")
        good &= compare(f"PyTorch {kind.__name__} -> gradus, {source}", program, folder / "theirs.safetensors", images, net, folder)
    good &= decode("gradus -> PyTorch, transposed convolutions", decoder_program, "save", folder)
    good &= decode("PyTorch -> gradus, transposed convolutions", decoder_program, "load", folder)
sys.exit(not good)
