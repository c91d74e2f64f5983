"""The sandbox: bubblewrap around every command of an agent, a set-up step or a check."""
