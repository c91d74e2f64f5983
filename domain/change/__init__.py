"""The Change: a request with its plan, and as entities inside it its Tasks and Candidates.

"At most 8 active agents", "last task completed", "last sibling selects the winner" and "cancel everything" are
invariants over all of them, so they share one stream.
"""
