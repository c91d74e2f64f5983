"""The command line."""

import argparse

from greet.greeting import greeting


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="greet", description="Says hello.")
    parser.add_argument("name", nargs="?", default="", help="whom to greet")
    options = parser.parse_args(arguments)
    print(greeting(options.name))
    return 0
