import pytest
from support.attack import Loader


@pytest.fixture
def loader(tool, tmp_path):
    folder = tmp_path / "models"
    folder.mkdir()
    return Loader(tool("roundtrip"), folder)
