import sys

from greet.cli import main

sys.exit(main(sys.argv[1:]))
