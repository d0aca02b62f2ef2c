"""Files as Swift has them in the program: small, and packed."""

import base64
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


def install():
    missing = [name for name in ("esbuild", "zopfli") if not shutil.which(name)]
    if missing and os.geteuid() != 0:
        sys.exit(f"these packages are missing; install them with:\n    sudo apt-get install -y --no-install-recommends {' '.join(missing)}")
    if missing:
        subprocess.run(["apt-get", "-qq", "install", "-y", "--no-install-recommends", *missing], check=True, stdout=subprocess.DEVNULL)


def minified(path, *options):
    """A script or style sheet without comments and spaces; options of esbuild join others into it."""
    return subprocess.run(["esbuild", str(path), "--minify", "--charset=utf8", *options], check=True, capture_output=True).stdout.strip() + b"\n"


def packed(content):
    with tempfile.TemporaryDirectory() as place:
        file = pathlib.Path(place, "content")
        file.write_bytes(content)
        return subprocess.run(["zopfli", "-c", "--i50", str(file)], check=True, capture_output=True).stdout


def row(name, content):
    """The file in Swift."""
    text = base64.b64encode(packed(content)).decode()
    lines = "\\\n".join(f"            {text[start:start + 120]}" for start in range(0, len(text), 120))
    digest = hashlib.sha256(content).hexdigest()[:16]
    return f'''        ConsoleFile(
            path: "{name}", digest: "{digest}", length: {len(content)}, gzip: """
{lines}
            """),'''


def digest(folder, sources):
    """One digest of the names and contents of files of a folder."""
    names = "".join(f"{path.relative_to(folder).as_posix()} {hashlib.sha256(path.read_bytes()).hexdigest()}\n" for path in sources)
    return hashlib.sha256(names.encode()).hexdigest()
