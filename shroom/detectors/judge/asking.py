"""What every judge has in common: its settings, and the service behind its endpoint."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar, Generic, Self, TypeVar

from shroom.core.problems import ShroomError
from shroom.detectors.judge.service import Service
from shroom.detectors.judge.settings import BudgetSettings, EndpointSettings, PromptSettings

P = TypeVar("P", bound=PromptSettings)


class Asking(Generic[P]):
    """Base of what asks a language model, with the settings in three groups.

    Recipes and the command line give all settings by name, see :meth:`from_settings`.

    Parameters
    ----------
    settings : PromptSettings
        Which model is asked, and for what: an object of :attr:`kind`.
    endpoint : EndpointSettings, optional
        Where requests are sent. Without one, the model is a causal model on the hub or in a folder.
    budget : BudgetSettings, optional
        What they may cost.

    Raises
    ------
    ShroomError
        If no model is named, or the settings contradict each other.

    Attributes
    ----------
    kind : type
        The class of ``settings``.
    needs_model : str
        The message if no model is named.
    """

    kind: ClassVar[type[PromptSettings]]
    needs_model: ClassVar[str]

    def __init__(
        self,
        settings: P,
        endpoint: EndpointSettings | None = None,
        budget: BudgetSettings | None = None,
    ) -> None:
        if settings.model is None:
            raise ShroomError(self.needs_model)
        self.settings = settings
        self.model = settings.model
        self.endpoint = endpoint or EndpointSettings()
        self.budget = budget or BudgetSettings()

    def service(
        self, body: dict[str, Any], *, reading: int | str, shorter: str, mode: str | None = None
    ) -> Service | None:
        """Return the service behind the endpoint, see :class:`Service`; ``None`` without one."""
        if self.endpoint.endpoint is None:
            return None
        mode = mode or self.settings.mode or "chat"
        return Service(
            self.settings,
            self.endpoint,
            self.budget,
            body,
            mode=mode,
            reading=reading,
            shorter=shorter,
        )

    @classmethod
    def _groups(cls) -> tuple[type[Any], ...]:
        return cls.kind, EndpointSettings, BudgetSettings

    @classmethod
    def setting_names(cls) -> tuple[str, ...]:
        """Return the names of all settings."""
        return tuple(item.name for group in cls._groups() for item in fields(group))

    @classmethod
    def from_settings(cls, **values: Any) -> Self:
        """Return an object from settings by name, as recipes and the command line give them."""
        groups = []
        for group in cls._groups():
            names = [item.name for item in fields(group) if item.name in values]
            groups.append(group(**{name: values.pop(name) for name in names}))
        if values:
            raise TypeError(f"unknown settings: {', '.join(values)}")
        return cls(*groups)
