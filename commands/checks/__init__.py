"""Which checks judge a change, and which set-up they need: from the person, the base's settings, or discovery."""
