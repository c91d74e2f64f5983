"""The Budget of one owner (project or person) in one month: slices reserved, settled, and what is spent."""
