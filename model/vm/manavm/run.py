# SPDX-License-Identifier: BSD-3-Clause
"""The processes and files of one run: a run folder, virtiofsd, the machine. None of
them survives the run, even if it is killed.
"""

import contextlib
import ctypes
import fcntl
import os
import shutil
import signal
import subprocess
import tempfile

from manavm.errors import Failure

PR_SET_PDEATHSIG = 1
# A socket's path, such as pci/function-0 in this folder, has 107 bytes at most.
PATH_MAX_BYTES = 85
END_S = 3
COMMANDS = "commands"       # in the run folder, the socket for mana-vm exec

libc = ctypes.CDLL(None, use_errno=True)


def end_with_parent(number=signal.SIGKILL):
    """The kernel sends this process a signal when its parent ends."""
    libc.prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0)


def folder_path(name):
    """The run folder of this user's guest of that name."""
    return os.path.join(tempfile.gettempdir(), f"mana-vm-{os.getuid()}-{name}")


class Folder:
    """
    The run folder. A process of its own removes it if this one is killed. Both hold its
    lock: a folder without one is of a host that lost its power.
    """

    def __init__(self, name):
        self.path = folder_path(name)
        if len(os.fsencode(self.path)) > PATH_MAX_BYTES:
            raise Failure(f"the path of the run folder {self.path} is too long for "
                          "sockets: set TMPDIR to a shorter one, or use a shorter "
                          "--name")
        self.lock = None
        while self.lock is None:
            self.lock = self._take()
        read, self.write = os.pipe()
        self.guardian = os.fork()
        if self.guardian == 0:
            try:
                os.setsid()
                for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                    signal.signal(number, signal.SIG_IGN)
                null = os.open(os.devnull, os.O_RDWR)
                for fd in range(3):
                    os.dup2(null, fd)
                os.close(self.write)
                os.read(read, 1)    # until the other end is closed
                shutil.rmtree(self.path, ignore_errors=True)
            finally:
                os._exit(0)
        os.close(read)

    def _take(self):
        """A descriptor that locks the new folder; None: try again."""
        with contextlib.suppress(FileExistsError):
            os.mkdir(self.path, 0o700)
        try:
            lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found = os.fstat(lock)
            is_there = os.path.samestat(found, os.lstat(self.path))
        except FileNotFoundError:       # the other run has just removed it
            return None
        except BlockingIOError:
            raise Failure(f"{self.path} exists: a guest of that name runs; use another "
                          "--name") from None
        except OSError as error:
            raise Failure(f"cannot use the run folder {self.path}: {error.strerror}; "
                          "use another --name") from None
        if found.st_uid != os.getuid():
            raise Failure(f"{self.path} belongs to another user: use another --name")
        if is_there and not os.listdir(self.path):
            return lock
        if is_there:
            shutil.rmtree(self.path)
        os.close(lock)
        return None

    def remove(self):
        os.close(self.lock)
        os.close(self.write)
        os.waitpid(self.guardian, 0)


def start(command, environment=None, **streams):
    """A process that is killed when this one ends."""
    parent = os.getpid()

    def prepare():
        end_with_parent()
        if os.getppid() != parent:
            os._exit(1)

    try:
        # Its own session: signals of the terminal are for mana-vm.
        return subprocess.Popen(command, env=environment, preexec_fn=prepare,
                                start_new_session=True, **streams)
    except OSError as error:
        raise Failure(f"cannot start {command[0]}: {error.strerror}") from None


def end(process, patience_s=END_S):
    """Ends a process, by force if it does not end by itself."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(patience_s)
        except subprocess.TimeoutExpired:
            process.kill()
    return process.wait()
