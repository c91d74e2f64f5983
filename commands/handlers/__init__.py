"""Handlers of messages: admission only, milliseconds each. What takes longer is an effect that they intend."""
