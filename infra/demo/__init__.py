"""The demo: a small sample application, a goal for it, and the script of an agent that reaches the goal."""
