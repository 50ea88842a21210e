"""A causal model on this machine: p(Hallucination) from the first token of its answer."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.problems import ShroomError
from shroom.detectors.judge.answers import Judgement, official_word, share_of_one
from shroom.detectors.judge.budget import Estimate, tokens_in
from shroom.detectors.judge.prompts import Prompt
from shroom.detectors.judge.responses import meaning
from shroom.inference import hub
from shroom.inference.cache_key import CacheKey
from shroom.inference.computation import compute
from shroom.inference.run_settings import Run
from shroom.inference.tokenization import in_chat, padded

#: Maximum number of tokens of a prompt, even if the model reads more.
_LONGEST = 8192
#: What to do if a chat template is missing or fails.
WITHOUT_TEMPLATE = 'give mode = "completion"'
#: Stands for the logarithm of zero, since journals contain only finite numbers.
_NOTHING = -1e4
#: Below this probability of yes and no together, the model does not follow the template.
_LOW = 0.01


class Local:
    """Asks a causal model about prompts."""

    def __init__(
        self,
        name: str,
        revision: str | None,
        mode: str | None,
        *,
        official: bool = False,
        cut: str = "contexts",
    ) -> None:
        self.cut = cut
        self.name, self.revision, self.mode, self.official = name, revision, mode, official
        self._tokenizer: Any = None
        self._model: Any = None

    @property
    def identity(self) -> str:
        """Identity of the weights; see :func:`shroom.inference.hub.identity`."""
        return hub.identity(self.name, self.revision)

    def judgements(self, prompts: Sequence[Prompt], run: Run) -> list[Judgement]:
        """Return the judgement on each prompt."""
        from scipy.special import expit

        self._load(run.device)
        texts = self._fitted(prompts, run)
        yes, no, words, likeliest = self._values(texts, run).T
        likely_words = [{1.0: "yes", -1.0: "no"}.get(word) for word in words.tolist()]
        if self.official:
            steps = zip(likely_words, likeliest.tolist())
            return [
                Judgement(share_of_one(logprob, side=word == "no") if word else None, word)
                for word, logprob in steps
            ]
        low = int((np.exp(yes) + np.exp(no) < _LOW).sum())
        if low:
            run.note(
                f"in {low} of {len(texts)} answers yes and no have less than 1 % of the first "
                "token's probability; the model may not follow the template"
            )
        p = expit(no - yes)
        return [Judgement(*pair) for pair in zip(p.tolist(), likely_words)]

    def estimate(self, prompts: Sequence[Prompt]) -> Estimate:
        """Return the cost of the prompts, which is time only."""
        texts = list(dict.fromkeys(map(str, prompts)))
        into = sum(map(tokens_in, texts))
        return Estimate(len(texts), 0, into, len(texts), 0.0, texts[0] if texts else "")

    def _fitted(self, prompts: Sequence[Prompt], run: Run) -> list[str]:
        """Return the model's inputs, with contexts cut where necessary."""
        inputs = [self._shortened(prompt) for prompt in prompts]
        cut = sum(shorter for _, shorter in inputs)
        if cut:
            run.note(
                f"{cut} {self.cut} were cut, so that the prompt fits into the {self.most} tokens "
                "that the model reads"
            )
        return [text for text, _ in inputs]

    def _shortened(self, prompt: Prompt) -> tuple[str, bool]:
        """Return a prompt with as much of its context as fits, and whether it was cut."""
        length = full_length = len(prompt.context)
        while True:
            text = self._framed(prompt.text(length))
            excess = len(self._ids(text)) - self.most
            if excess <= 0 or not length:
                return text, length < full_length
            # Most tokens have several characters, so this removes too little rather than too much.
            length -= max(min(length, excess), length // 50)

    def _values(self, prompts: Sequence[str], run: Run) -> NDArray[np.float64]:
        """Return the probabilities of the first token of each answer.

        Returns
        -------
        array, shape [n, 4]
            The log-probabilities of all tokens that mean yes, and of all that mean no; then the
            meaning of the likeliest token (1 yes, -1 no, 0 neither), and its log-probability.
        """
        key = CacheKey(f"judge {self.mode} {self.identity}")
        items = [(prompt,) for prompt in prompts]
        lengths = [min(len(self._ids(prompt)), self.most) for prompt in prompts]
        return compute(items, self._first_tokens, lengths=lengths, key=key, run=run)

    def _framed(self, prompt: str) -> str:
        if self.mode == "completion":
            return prompt
        turns = [("user", prompt)]
        return in_chat(self._tokenizer, self.name, turns, asks=True, way_out=WITHOUT_TEMPLATE)

    def _ids(self, prompt: str) -> list[int]:
        # A chat template contains the start token.
        marks = self.mode == "completion"
        ids: list[int] = self._tokenizer(prompt, add_special_tokens=marks)["input_ids"]
        return ids

    def _load(self, device: str | None) -> None:
        if self._model is not None:
            return
        tokenizer, model, self.mode, self.most = loaded(self.name, self.revision, self.mode, device)
        # Padding must not move the end of a prompt, where the answer begins.
        tokenizer.padding_side = "left"
        self._yes, self._no = (_answer_ids(tokenizer, word) for word in ("yes", "no"))
        if set(self._yes) & set(self._no):
            raise ShroomError(
                f"{self.name}: its tokenizer begins yes and no with the same token, so its first "
                "token does not distinguish them; use another model"
            )
        self._tokenizer, self._model = tokenizer, model
        parameters = inspect.signature(self._model.forward).parameters
        self._takes = {"position_ids", "logits_to_keep"} & set(parameters)

    def _first_tokens(self, prompts: list[tuple[str]]) -> NDArray[np.float64]:
        import torch

        # A prompt that is too long even without its context keeps its end, with the question.
        ids = [self._ids(prompt)[-self.most :] for (prompt,) in prompts]
        batch = self._tokenizer.pad({"input_ids": ids}, return_tensors="pt").to(self._model.device)
        more: dict[str, Any] = {}
        if "position_ids" in self._takes:
            more["position_ids"] = (batch["attention_mask"].cumsum(-1) - 1).clamp(min=0)
        if "logits_to_keep" in self._takes:
            more["logits_to_keep"] = 1
        with torch.inference_mode():
            output = self._model(
                input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], **more
            )
            logprobs = output.logits[:, -1].float().log_softmax(-1)
            yes, no = (logprobs[:, ids].logsumexp(-1) for ids in (self._yes, self._no))
            likeliest = logprobs.max(-1)
        words = [official_word(self._tokenizer.decode([i])) for i in likeliest.indices.tolist()]
        means = torch.tensor([{"yes": 1.0, "no": -1.0}.get(word or "", 0.0) for word in words])
        columns = (yes, no, means.to(yes), likeliest.values)
        return np.asarray(torch.stack(columns, 1).clamp(min=_NOTHING).cpu().numpy(), np.float64)


def loaded(
    name: str, revision: str | None, mode: str | None, device: str | None
) -> tuple[Any, Any, str, int]:
    """Return a causal model's tokenizer, the model, its mode, and how many tokens it reads."""
    tokenizer = padded(hub.tokenizer(name, revision))
    template = getattr(tokenizer, "chat_template", None)
    if mode == "chat" and not template:
        raise ShroomError(f"{name}: its tokenizer has no chat template; {WITHOUT_TEMPLATE}")
    model = hub.model("causal", name, revision, device)
    reads = getattr(model.config, "max_position_embeddings", None) or _LONGEST
    most = min(int(tokenizer.model_max_length), int(reads), _LONGEST)
    return tokenizer, model, mode or ("chat" if template else "completion"), most


def _answer_ids(tokenizer: Any, word: str) -> list[int]:
    """Return the ids of the tokens that mean a word, or else the id of its first token."""
    ids = [i for token, i in tokenizer.get_vocab().items() if meaning(str(token)) == word]
    return sorted(ids) or tokenizer(word, add_special_tokens=False)["input_ids"][:1]
