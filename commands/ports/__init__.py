"""What the command handlers need from outside, stated as protocols; `infra` implements them."""
