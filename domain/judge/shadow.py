"""Modules of a change that would be imported in the place of the test runner's own (DESIGN, "What judges a change").

A runner started with `python -m` looks into the checkout's root first, so a new `json.py` there runs inside the runner.
"""

from collections.abc import Sequence
from typing import Final

RUNNERS: Final = frozenset(["_pytest", "iniconfig", "pluggy", "py", "pytest", "unittest"])
"""Import names of the runners and of what they can't do without: shadowing these is never a product's purpose."""

PLUGINS: Final = frozenset(
    {"coverage", "hypothesis", "mock", "pygments", "pytest_asyncio", "pytest_cov", "pytest_timeout", "xdist"}
)

_STANDARD_LIBRARY: Final = """
abc aifc annotationlib antigravity argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb binascii
bisect builtins bz2 cProfile calendar cgi cgitb chunk cmath cmd code codecs codeop collections colorsys compileall
compression concurrent configparser contextlib contextvars copy copyreg crypt csv ctypes curses dataclasses datetime
dbm decimal difflib dis distutils doctest email encodings ensurepip enum errno faulthandler fcntl filecmp fileinput
fnmatch fractions ftplib functools gc genericpath getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac
html http idlelib imaplib imghdr imp importlib inspect io ipaddress itertools json keyword lib2to3 linecache locale
logging lzma mailbox mailcap marshal math mimetypes mmap modulefinder msilib msvcrt multiprocessing netrc nis
nntplib nt ntpath nturl2path numbers opcode operator optparse os ossaudiodev pathlib pdb pickle pickletools pipes
pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty pwd py_compile pyclbr pydoc pydoc_data
pyexpat queue quopri random re readline reprlib resource rlcompleter runpy sched secrets select selectors shelve
shlex shutil signal site smtpd smtplib sndhdr socket socketserver spwd sqlite3 sre_compile sre_constants sre_parse
ssl stat statistics string stringprep struct subprocess sunau symtable sys sysconfig syslog tabnanny tarfile
telnetlib tempfile termios textwrap this threading time timeit tkinter token tokenize tomllib trace traceback
tracemalloc tty turtle turtledemo types typing unicodedata unittest urllib uu uuid venv warnings wave weakref
webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib zoneinfo
"""

STANDARD_LIBRARY: Final = frozenset(_STANDARD_LIBRARY.split())
"""Public top-level modules of Python 3.11 to 3.14; a fixed list, so that a decision can be computed again anywhere."""

OWNED: Final = RUNNERS | PLUGINS | STANDARD_LIBRARY

MODULE_SUFFIXES: Final = (".py", ".pyc", ".so", ".pyd")


def shadows_a_module(path: str, roots: Sequence[str]) -> bool:
    """Whether a file at `path` (percent-encoded) would be a top-level module or package of a name that others own.

    roots: the folders that a runner may run in; what lies in them, or in a `src` below them, can be imported.
    """
    folded = path.casefold()
    prefixes = (f"{root}/" if root else "" for root in map(str.casefold, roots))
    folders = (prefix + source for prefix in prefixes for source in ("", "src/"))
    return any(folded.startswith(folder) and _is_module(folded.removeprefix(folder)) for folder in folders)


def _is_module(path: str) -> bool:
    head, _, rest = path.partition("/")
    if rest:
        return head in OWNED and rest.startswith("__init__.") and rest.endswith(MODULE_SUFFIXES)
    return head.split(".", 1)[0] in OWNED and head.endswith(MODULE_SUFFIXES)
