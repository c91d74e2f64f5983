"""The cache of set-up steps below the home: each result is made once, whole, and mounted read-only."""
