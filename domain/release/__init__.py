"""The Release of one canonical generation to the project's release target."""
