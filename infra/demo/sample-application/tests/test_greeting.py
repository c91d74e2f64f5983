import unittest

from greet.greeting import greeting


class GreetingTest(unittest.TestCase):
    def test_greets_by_name(self) -> None:
        assert greeting("Ada") == "Hello, Ada!"

    def test_greets_the_world_without_a_name(self) -> None:
        assert greeting("  ") == "Hello, world!"


if __name__ == "__main__":
    unittest.main()
