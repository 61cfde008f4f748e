"""What --fleet names, and who can talk to the workers of a local fleet."""

import os
import re
import subprocess
import sys
from contextlib import suppress
from copy import deepcopy
from pathlib import Path

import pytest

from gemmbench.bench.workers.connection import Connection, FleetAddress, parse_fleet, start_workers
from gemmbench.errors import DeviceError, UsageError

LISTENING = "0A"
LOOPBACK = "0100007F"
NOBODY = 65534
STRANGER = """
import asyncio, os, sys
from distributed import Security
from distributed.comm import connect

async def try_to_talk(address, security):
    comm = await connect(address, timeout=2, **security.get_connection_args("client"))
    await comm.write({"op": "identity"})
    return await comm.read()

folder, *addresses = sys.argv[1:]
ca, key = f"{folder}/certificate.pem", f"{folder}/key.pem"
strangers = Security(), Security.temporary(), Security(tls_ca_file=ca)
for address in addresses:
    for security in (*strangers, Security(tls_ca_file=ca, tls_client_cert=ca, tls_client_key=key)):
        try:
            asyncio.run(try_to_talk(address, security))
            print("answered", address, "a stranger" if security in strangers else "its client")
        except Exception as fault:
            print("refused", type(fault).__name__)
"""


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("local", FleetAddress()),
        ("local:4", FleetAddress(count=4)),
        ("tcp://node:8786", FleetAddress("tcp://node:8786")),
        ("tls://10.0.0.1:8786", FleetAddress("tls://10.0.0.1:8786")),
    ],
)
def test_a_fleet_is_local_or_a_scheduler(text, address):
    assert parse_fleet(text) == address


@pytest.mark.parametrize("text", ["", "local:0", "local:x", "node:8786", "tcp://node", "http://node:80"])
def test_anything_else_is_refused_with_examples(text):
    with pytest.raises(UsageError, match="write local, local:4 or the address of a scheduler"):
        parse_fleet(text)


def find_folder():
    """The folder of the fleet that runs, which is that of its certificate."""
    return Path(pytest.importorskip("dask").config.get("distributed.comm.tls.ca-file")).parent


def list_addresses(cluster):
    """The scheduler, the workers and their nannies, each also without TLS."""
    with Connection(cluster, "GPU") as connection:
        known = connection._client.scheduler_info(n_workers=-1)["workers"]
    addresses = [cluster, *known, *(each["nanny"] for each in known.values())]
    assert len(addresses) == 5
    return addresses + [address.replace("tls:", "tcp:") for address in addresses]


def test_a_client_without_the_certificate_reaches_nobody_in_a_local_fleet(cluster):
    addresses = list_addresses(cluster)
    command = [sys.executable, "-c", STRANGER, str(find_folder()), *addresses]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    answered = [line.split(" ", 2)[1:] for line in done.stdout.splitlines() if line.startswith("answered")]
    assert answered == [[address, "its client"] for address in addresses if address.startswith("tls:")], done.stderr
    assert len(done.stdout.splitlines()) == 4 * len(addresses)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become another user")
def test_another_user_cannot_read_the_key(cluster):
    key = find_folder() / "key.pem"
    done = subprocess.run(["cat", key], user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, text=True)
    assert done.returncode != 0 and "Permission denied" in done.stderr


def test_only_this_user_can_read_the_key(cluster):
    folder = find_folder()
    assert [path.stat().st_mode & 0o777 for path in (folder, folder / "key.pem")] == [0o700, 0o600]


def list_family(ancestor):
    """The numbers of a process and all that it has started."""
    parents = {}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended meanwhile
            parents[int(process.name)] = int((process / "stat").read_text().rpartition(")")[2].split()[1])
    family = {ancestor}
    while more := {child for child, parent in parents.items() if parent in family} - family:
        family |= more
    return family


def list_sockets(process):
    """The numbers of the sockets that a process has open."""
    found = set()
    for entry in Path(f"/proc/{process}/fd").iterdir():
        with suppress(OSError):
            found |= set(re.findall(r"socket:\[(\d+)\]", str(entry.readlink())))
    return found


def test_a_local_fleet_listens_on_127_0_0_1_only(cluster):
    ours = set().union(*map(list_sockets, list_family(os.getpid())))
    lines = [
        line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    places = [local.partition(":")[0] for _, local, _, state, *rest in lines if state == LISTENING and rest[5] in ours]
    assert len(places) >= 8 and set(places) == {LOOPBACK}


def test_the_settings_of_dask_are_those_of_before_when_a_fleet_has_ended():
    config = pytest.importorskip("dask").config
    before = deepcopy(config.get("distributed.comm"))
    with start_workers([{}], "GPU") as address, Connection(address, "GPU"):
        assert address.startswith("tls://127.0.0.1:")
        assert config.get("distributed.comm") != before
        folder = find_folder()
    assert config.get("distributed.comm") == before and not folder.exists()


def test_without_cryptography_a_local_fleet_says_what_to_install(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(DeviceError, match=r"pip install .*cryptography"), start_workers([{}], "GPU"):
        pass
