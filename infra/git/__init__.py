"""Git: people's repositories, the canonical repository of a project, forks, composition and snapshots."""
