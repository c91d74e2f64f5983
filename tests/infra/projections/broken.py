"""Read models that fail, beside ones that don't."""

from domain.change.event import ChangeCompiled, ChangeCreated
from projections.core import ReadModel, Table

TALLY = Table("tally", {"change": "text", "small": "bigint", "note": "text null"}, key=("change",))


def a_tally(name: str = "tally", *, value: int = 1, note: str | None = None, fails: bool = False) -> ReadModel:
    """Counts Changes; `value` or `note` may be something that no database takes, or it raises when one is compiled."""
    model = ReadModel(name, __name__, TALLY)

    @model.creates(ChangeCreated, TALLY)
    def created(event, envelope):
        return {"change": envelope.stream, "small": 1, "note": None}

    @model.patches(ChangeCompiled, table=TALLY, key=lambda event, envelope: envelope.stream)
    def compiled(row, event, envelope):
        if fails:
            raise ZeroDivisionError("on purpose")
        return {"small": value, "note": note}

    return model


def nosy() -> ReadModel:
    """Reads a row that its keys don't name."""
    model = ReadModel("tally", __name__, TALLY)

    @model.on(ChangeCreated, keys=lambda event, envelope: ())
    def created(event, envelope, position, rows):
        rows.get(("tally", "another"))
        return {}

    return model
