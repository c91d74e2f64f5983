"""`python -m tests.domain.golden`: write the golden files of new event types and versions."""

import sys

from tests.domain.golden import write_new

if __name__ == "__main__":
    try:
        for path in write_new():
            print(f"new: {path.name}")
    except RuntimeError as refused:
        sys.exit(str(refused))
