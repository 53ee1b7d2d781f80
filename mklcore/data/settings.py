"""What a person settles about reading a table: its target and task, its columns, its missing values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mklcore.data.columns import USES
from mklcore.data.dataset import TASKS
from mklcore.errors import ParameterError

RULES = {
    "missing": ("median", "drop", "indicator"),
    "sentinels": ("keep", "missing"),
    "rare_classes": ("keep", "merge", "drop"),
}


@dataclass(frozen=True)
class Settings:
    """The arguments of `read_table` that say what becomes of columns, rows and the target."""

    target: str | int | None = None
    task: str | None = None
    keep: Sequence[str] = ()
    uses: Mapping[str, str] = field(default_factory=dict)
    missing: str = "median"
    sentinels: str = "keep"
    rare_classes: str = "keep"

    def __post_init__(self) -> None:
        if isinstance(self.keep, str):
            object.__setattr__(self, "keep", (self.keep,))
        if self.task is not None and self.task not in (*TASKS, "classification"):
            raise ParameterError(f"task is {self.task!r}; expected one of {', '.join(TASKS)} or classification.")
        for name, rules in RULES.items():
            if (value := getattr(self, name)) not in rules:
                raise ParameterError(f"{name} is {value!r}; expected one of {', '.join(rules)}.")
        for name, use in self.uses.items():
            if use not in USES:
                raise ParameterError(f"uses names {use!r} for {name!r}; expected one of {', '.join(USES)}.")

    def use_of(self, name: str) -> str | None:
        """What the target is to be read as; one that is left out as a feature may still be a target."""
        use = self.uses.get(name)
        return None if use == "left out" else use
