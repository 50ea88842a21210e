"""A causal model on this machine: p(Hallucination) from the token of its verdict."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.problems import ShroomError
from shroom.detectors.judge.answers import Judgement, official_word, share_of_one
from shroom.detectors.judge.budget import Estimate, tokens_in
from shroom.detectors.judge.prompts import Prompt
from shroom.detectors.judge.verdicts import bare, place_of_verdict, verdict_of
from shroom.inference import hub
from shroom.inference.compute import compute
from shroom.inference.endpoint.answer import end_of_thought, opened_thought
from shroom.inference.run_settings import Run
from shroom.inference.tokenization import in_chat, padded

#: Maximum number of tokens of a prompt, even if the model reads more.
_LONGEST = 8192
#: What to do if a chat template is missing or fails.
WITHOUT_TEMPLATE = 'give mode = "completion"'
#: Stands for the logarithm of zero, since journals contain only finite numbers.
_NOTHING = -1e4
#: Below this probability of yes and no together, the first token is not the verdict.
_LOW = 0.01
#: What the likeliest first token means, or the reason why there is no verdict, as a number.
_MEANINGS = {1.0: "yes", -1.0: "no"}
_UNFINISHED = 2.0


class Local:
    """Asks a causal model about prompts.

    The first token is the verdict if the model gives yes and no at least a hundredth of its
    probability and its chat template opens no thought. Otherwise ``max_tokens`` are generated, and
    the verdict is found in them as in the answers of servers.
    """

    def __init__(
        self,
        name: str,
        revision: str | None,
        mode: str | None,
        *,
        max_tokens: int,
        official: bool = False,
        cut: str = "contexts",
    ) -> None:
        self.cut, self.max_tokens = cut, max_tokens
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
        likely_words = [_MEANINGS.get(word) for word in words.tolist()]
        if self.official:
            steps = zip(likely_words, likeliest.tolist())
            return [
                Judgement(share_of_one(logprob, side=word == "no") if word else None, word)
                for word, logprob in steps
            ]
        mass = np.exp(yes) + np.exp(no)
        low = int(((mass > 0) & (mass < _LOW)).sum())
        if low:
            run.note(
                f"in {low} of {len(texts)} answers yes and no have less than 1 % of the first "
                "token's probability; the model may not follow the template"
            )
        p = expit(no - yes)
        return [
            Judgement(p_no if both > 0 else None, word, meaning == _UNFINISHED)
            for p_no, both, word, meaning in zip(p.tolist(), mass, likely_words, words)
        ]

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
        """Return the probabilities of the token of each verdict.

        Returns
        -------
        array, shape [n, 4]
            The log-probabilities of all tokens that mean yes, and of all that mean no; then the
            meaning of the likeliest token (1 yes, -1 no, 0 neither; 2 if the answer ended before
            its verdict), and its log-probability.
        """
        lengths = [min(len(self._ids(prompt)), self.most) for prompt in prompts]
        run = replace(run, device=self._model.device.type)
        return compute(prompts, self._verdicts, lengths=lengths, scope=self._scope, run=run)

    def _scope(self) -> str | None:
        content = hub.content(self.name, self.revision)
        length = "" if self.official else f" {self.max_tokens}"
        about = f"{self.mode}{length} {self.most} {self._model.device.type}"
        versions = hub.library_versions("tokenizers", "transformers", "torch")
        return content and f"judge {about} {content} {versions}"

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

    def _verdicts(self, prompts: list[str]) -> NDArray[np.float64]:
        # A prompt that is too long even without its context keeps its end, with the question.
        ids = [self._ids(prompt)[-self.most :] for prompt in prompts]
        rows = self._next_tokens(ids)
        if self.official:
            return rows
        chat = self.mode == "chat"
        opened = [opened_thought(prompt) if chat else "" for prompt in prompts]
        low = np.exp(rows[:, :2]).sum(axis=1) < _LOW
        for place in [place for place, mark in enumerate(opened) if mark or low[place]]:
            rows[place] = self._in_answer(ids[place], opened[place], rows[place])
        return rows

    def _in_answer(
        self, ids: list[int], opened: str, first: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the row of the verdict in a generated answer; ``first`` is that of its start."""
        new = self._generated(ids)
        ended = len(new) < self.max_tokens
        tokens = [opened, *map(str, self._tokenizer.convert_ids_to_tokens(new))]
        text = opened + str(self._tokenizer.decode(new))
        thinks, verdict = end_of_thought(text), verdict_of(text)
        place = place_of_verdict(tokens)
        if verdict is None:
            neither = 0.0 if ended and thinks is not None else _UNFINISHED
            return np.array([*(first[:2] if thinks == 0 else [_NOTHING] * 2), neither, 0.0])
        if place is not None and place > 0:
            (row,) = self._next_tokens([ids + new[: place - 1]])
            if np.exp(row[:2]).sum() >= _LOW:
                return np.asarray(row)
        return np.array([0.0, _NOTHING, 1, 0] if verdict.right else [_NOTHING, 0.0, -1, 0])

    def _generated(self, ids: list[int]) -> list[int]:
        """Return the tokens of the likeliest answer, without the one that ends it."""
        import torch
        from transformers import GenerationConfig

        reads = getattr(self._model.config, "max_position_embeddings", None) or math.inf
        room = int(min(self.max_tokens, reads - len(ids)))
        if room < 1:
            return []
        start = torch.tensor([ids], device=self._model.device)
        ends = self._model.generation_config.eos_token_id or self._tokenizer.eos_token_id
        config = GenerationConfig(
            max_new_tokens=room,
            do_sample=False,
            eos_token_id=ends,
            pad_token_id=self._tokenizer.pad_token_id,
        )
        with torch.inference_mode():
            row = self._model.generate(
                start, attention_mask=torch.ones_like(start), generation_config=config
            )[0]
        new: list[int] = row[len(ids) :].tolist()
        return new[:-1] if new and new[-1] in np.atleast_1d(ends) else new

    def _next_tokens(self, ids: list[list[int]]) -> NDArray[np.float64]:
        """Return the row of the token after each text: shape [n, 4], as in ``_values``."""
        import torch

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
    ids = [i for token, i in tokenizer.get_vocab().items() if bare(str(token)) == word]
    return sorted(ids) or tokenizer(word, add_special_tokens=False)["input_ids"][:1]
