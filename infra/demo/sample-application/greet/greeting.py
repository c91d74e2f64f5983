"""What is said; how it gets to a person is the command line's part."""


def greeting(name: str) -> str:
    """A greeting for `name`; for the world if there is no name."""
    return f"Hello, {name.strip() or 'world'}!"
