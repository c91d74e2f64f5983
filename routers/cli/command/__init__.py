"""What can be typed: names, arguments, options and their help. Light to import; the work is in `routers.cli.action`."""
