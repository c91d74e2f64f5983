"""Which performer performs which kind of effect."""

from collections.abc import Mapping
from typing import Final

from commands.effect import EffectKind
from commands.perform.checking import perform_check
from commands.perform.composing import perform_compose
from commands.perform.performance import Performer
from commands.perform.planning import perform_plan
from commands.perform.publishing import perform_export, perform_ref
from commands.perform.running import perform_run, perform_stop

PERFORMERS: Final[Mapping[str, Performer]] = {
    EffectKind.PLAN: perform_plan,
    EffectKind.RUN: perform_run,
    EffectKind.STOP: perform_stop,
    EffectKind.COMPOSE: perform_compose,
    EffectKind.CHECK: perform_check,
    EffectKind.EXPORT: perform_export,
    EffectKind.REF: perform_ref,
}
