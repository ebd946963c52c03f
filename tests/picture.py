"""The picture that the README opens with: a theorem on a page, with its derivation. Run by `make picture`."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "report.png"
WIDTH, HEIGHT = 1180, 1600
SHOWN = """
addEventListener("load", () => setTimeout(() => {
  document.querySelectorAll("main > *").forEach((e) => { e.hidden = e.id !== "theorem-jacobian"; });
  document.querySelectorAll("#theorem-jacobian .derivation").forEach((e) => { e.open = true; });
  document.querySelector("#theorem-jacobian .step").open = true;
}, 300));
"""


def main() -> int:
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        print("the picture needs Chromium", file=sys.stderr)
        return 5
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [sys.executable, "-m", "derive", "report", "softmax", "--format", "html", "--out", name]
        subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
        page = (folder / "softmax.html").read_text(encoding="utf-8")
        page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
        page = page.replace("</body>", f"<script>{SHOWN}</script></body>")
        (folder / "softmax.html").write_text(page, encoding="utf-8")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=9000"]
        options += [f"--user-data-dir={folder / 'profile'}", f"--window-size={WIDTH},{HEIGHT}"]
        picture = folder / "report.png"
        address = (folder / "softmax.html").as_uri()
        subprocess.run(
            [chromium, *options, f"--screenshot={picture}", address], check=True, capture_output=True, timeout=120
        )
        _smaller(picture)
        shutil.copyfile(picture, TARGET)
    print(f"wrote {TARGET.relative_to(ROOT)}")
    return 0


def _smaller(picture: Path) -> None:
    """The picture in few colours, where Pillow, which comes with matplotlib, is there."""
    try:
        from PIL import Image
    except ImportError:
        return
    with Image.open(picture) as image:
        few = image.convert("RGB").quantize(64, dither=Image.Dither.NONE)
    few.save(picture, optimize=True)


if __name__ == "__main__":
    sys.exit(main())
