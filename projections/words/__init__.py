"""Plain words for what happened and what is waited for, made by code from IDs, codes and numbers only."""

from projections.words.event import event_sentence, event_subject

__all__ = ["event_sentence", "event_subject"]
