"""Presentation: from data to text and styles. Pure; nothing here reads, writes or asks."""
