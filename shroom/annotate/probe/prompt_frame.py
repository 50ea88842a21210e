"""What stands around a question, and at which token the states are read."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from shroom.core.problems import ShroomError, show
from shroom.inference.tokenization import in_chat

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Where states can be read: at the question's last token, or at the last one before the answer.
POSITIONS = ("last", "before-answer")
MODES = ("chat", "completion")
QUESTION = "{question}"
#: What a model is given if nothing else is wanted: in completion mode a line end follows, so that
#: there is a token between question and answer.
PROMPTS = {"chat": QUESTION, "completion": f"{QUESTION}\n"}
#: A character of no script, which no template changes.
_MARK = "\ue137"


@dataclass(frozen=True)
class Frame:
    """What stands around each question.

    Attributes
    ----------
    mode : str
        ``chat`` or ``completion``.
    prompt : str
        What the user gives, with ``{question}`` in it.
    position : str
        One of ``POSITIONS``.
    before, after : str
        What the model is given before and after a question: the prompt and, in chat mode, what the
        chat template makes of it. Templates may contain the date, so this is made once and kept.
    """

    mode: str
    prompt: str
    position: str
    before: str
    after: str

    def text(self, question: str) -> str:
        """Return what the model is given, whose last token is where states are read.

        A causal model's states do not depend on what follows, so nothing does.

        Examples
        --------
        >>> Frame("completion", "Q: {question} A:", "last", "Q: ", " A:").text(" Why? ")
        'Q: Why?'
        """
        return self.before + question.strip() + (self.after if self.position != "last" else "")

    def to_dict(self) -> dict[str, str]:
        """Return its attributes, for json."""
        return asdict(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Frame:
        """Return what :meth:`to_dict` gave; raises KeyError and ValueError for others."""
        found = {name: content[name] for name in cls.__dataclass_fields__}
        if not all(isinstance(value, str) for value in found.values()):
            raise ValueError("a text is none")
        if found["position"] not in POSITIONS or found["mode"] not in MODES:
            raise ValueError("there is no such position or mode")
        return cls(**found)


def frame(
    tokenizer: Any, name: str, position: str, mode: str | None = None, prompt: str | None = None
) -> Frame:
    r"""Return what stands around each question.

    Parameters
    ----------
    tokenizer : tokenizer of transformers
        Whose chat template is used in chat mode.
    name : str
        What messages call the model.
    position : str
        One of ``POSITIONS``.
    mode : str, optional
        By default ``chat`` where there is a chat template, else ``completion``.
    prompt : str, optional
        With ``{question}`` once; by default the question, in completion mode with a line end.

    Raises
    ------
    ShroomError
        Where the prompt or the template has no place for the question.
    """
    template = getattr(tokenizer, "chat_template", None)
    if mode == "chat" and not template:
        raise ShroomError(f"{name}: its tokenizer has no chat template; give --mode completion")
    mode = mode or ("chat" if template else "completion")
    prompt = PROMPTS[mode] if prompt is None else prompt
    if prompt.count(QUESTION) != 1:
        raise ShroomError(f"--prompt: expected {QUESTION} in it, once, got {show(prompt)}")
    text = prompt.replace(QUESTION, _MARK)
    if mode == "chat":
        text = _templated(tokenizer, name, text)
    before, _, after = text.partition(_MARK)
    return Frame(mode, prompt, position, before, after)


def _templated(tokenizer: Any, name: str, text: str) -> str:
    way_out = "give --mode completion"
    found = in_chat(tokenizer, name, [("user", text)], asks=True, way_out=way_out)
    if found.count(_MARK) != 1:
        raise ShroomError(
            f"{name}: its chat template shows the question {found.count(_MARK)} times rather than "
            "once; give --mode completion"
        )
    return found
