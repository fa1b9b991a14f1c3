"""External data that points outside the model's folder, or does not match the model."""

import os
import socket
import threading

import pytest
from support.attack import external_model

GOOD = bytes(range(16))


@pytest.fixture
def folder(loader):
    (loader.folder / "data.bin").write_bytes(GOOD)
    return loader.folder


def test_a_plain_file_beside_the_model_is_accepted(loader, folder):
    (folder / "sub").mkdir()
    (folder / "sub/data.bin").write_bytes(GOOD)
    inputs = [external_model("data.bin"), external_model("data.bin", 0, 16), external_model("sub/data.bin", 4, 8, 2)]
    assert loader.run(inputs).errors == {}


@pytest.mark.parametrize("location", ["../secret.bin", "sub/../../secret.bin", "..", ".", "", "sub/..", "/dev/zero"])
def test_locations_outside_the_folder_are_rejected(loader, folder, location):
    (folder / "sub").mkdir()
    (folder.parent / "secret.bin").write_bytes(GOOD)
    loader.refuse(external_model(location), "'w'")


def test_an_absolute_path_is_rejected_even_if_it_leads_inside(loader, folder):
    loader.refuse(external_model(str(folder / "data.bin")), "unsafe_path: ", "'w'")


def test_a_name_with_a_zero_byte_is_rejected(loader, folder):
    loader.refuse(external_model("data.bin\0.txt"), "'w'")


def test_symbolic_links_are_rejected(loader, folder):
    (folder.parent / "secret.bin").write_bytes(GOOD)
    (folder / "link.bin").symlink_to("../secret.bin")
    (folder / "inside.bin").symlink_to("data.bin")
    (folder / "door").symlink_to("..")
    loader.refuse(external_model("link.bin"), "unsafe_path: ", "'w'", )
    loader.refuse(external_model("inside.bin"), "unsafe_path: ", "'w'")
    loader.refuse(external_model("door/secret.bin"), "unsafe_path: ", "'w'")


def test_hard_links_are_rejected(loader, folder):
    (folder.parent / "secret.bin").write_bytes(GOOD)
    os.link(folder.parent / "secret.bin", folder / "hard.bin")
    loader.refuse(external_model("hard.bin"), "unsafe_path: ", "'w'")


def test_only_regular_files_are_accepted(loader, folder):
    os.mkfifo(folder / "fifo.bin")
    (folder / "folder.bin").mkdir()
    door = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(folder)  # a socket's path is short
    door.bind("socket.bin")
    os.chdir(here)
    for name in ("fifo.bin", "folder.bin", "socket.bin"):
        loader.refuse(external_model(name), "'w'")
    door.close()


def test_a_missing_file_is_named(loader, folder):
    loader.refuse(external_model("gone.bin"), "not_found: ", "'w'", "gone.bin")


@pytest.mark.parametrize("offset, length", [
    (0, 17), (1, 16), (16, 16), (17, 0), (2**63 - 1, 16), (2**63 - 8, 16), (2**64 - 8, 16), (2**64, 16), (16, 2**63 - 1),
    (-1, 16), (0, -16), ("zero", 16), (0, "all"), ("0x0", 16), ("", 16), ("1e3", 16), (0, 8), (8, None),
])
def test_ranges_that_do_not_fit_are_rejected(loader, folder, offset, length):
    loader.refuse(external_model("data.bin", offset, length), "'w'")


def test_external_data_without_a_location_is_rejected(loader, folder):
    model = external_model("data.bin").replace(b"location", b"locatiom")
    loader.refuse(model, "'w'")


def test_a_claimed_terabyte_is_rejected_cheaply(loader, folder):
    loader.refuse(external_model("data.bin", 0, 2**40, 2**38), "'w'")


def test_a_data_file_that_shrinks_while_in_use_is_an_error_and_no_crash(loader, folder):
    """Truncates the file over and over while it is loaded and saved: each round succeeds or reports an error."""
    size = 8 * 2**20
    path = folder / "data.bin"
    path.write_bytes(bytes(size))
    stop = threading.Event()

    def shrink():
        while not stop.is_set():
            os.truncate(path, 4096)
            os.truncate(path, size)

    thread = threading.Thread(target=shrink)
    thread.start()
    try:
        outcome = loader.run([external_model("data.bin", 0, size, size // 4)] * 60)
    finally:
        stop.set()
        thread.join()
    for error in outcome.errors.values():
        assert error.split(": ")[0] in ("data_lost", "invalid_model", "malformed"), error
