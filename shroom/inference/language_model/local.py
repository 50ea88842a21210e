"""A causal model on this machine."""

from __future__ import annotations

import inspect
import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.json_writing import json_digest
from shroom.core.printing import counted
from shroom.core.problems import ShroomError, show
from shroom.inference import hub
from shroom.inference.compute import compute
from shroom.inference.language_model.model import (
    Estimate,
    Question,
    Reply,
    Sampling,
    Step,
    bare,
    opened_thought,
    places_of,
    reply,
    store,
    stored,
    tokens_in,
)
from shroom.inference.run_settings import RUN, Run
from shroom.inference.tokenization import in_chat, padded

Floats = NDArray[np.float64]
#: Maximum number of tokens of a prompt, even if the model reads more.
_LONGEST = 8192
#: Stands for the logarithm of zero, since only finite numbers are stored.
_NOTHING = -1e4
#: Below this probability of all words together, the first token does not begin the answer.
_LOW = 0.01
#: How many answers to a prompt are sampled at a time.
_BATCH = 16


@dataclass
class Local:
    """Asks a causal model."""

    # With ``words``, answers have their log-probabilities. The first token is the answer
    # if the words have at least 1% of its probability and no thought is open; otherwise
    # ``max_tokens`` are generated.

    name: str
    revision: str | None
    mode: str | None
    sampling: Sampling
    words: Sequence[str] = ()
    _tokenizer: Any = None
    _model: Any = None

    @property
    def identity(self) -> str:
        return hub.identity(self.name, self.revision)

    def answers(
        self, questions: Sequence[Question], run: Run = RUN
    ) -> Generator[tuple[int, Reply | ShroomError]]:
        """Yield the place of each question with its answer; answers are stored as they are made."""
        if not questions:
            return
        self._load(run.device)
        prompts = [self._framed(question.prompt) for question in questions]
        if long := sum(len(self._ids(prompt)) > self._most for prompt in prompts):
            run.note(
                f"{counted(long, 'prompt')} had to be truncated at the start, because the model "
                f"reads at most {self._most} tokens"
            )
        numbers = [question.number or 0 for question in questions]
        words = self._first_words(prompts, run) if self.words else {}
        done = 0
        for prompt, places in places_of(prompts).items():
            asked = [numbers[place] for place in places]
            if prompt in words:
                found = dict.fromkeys(asked, words[prompt])
            else:
                found = self._sampled(prompt, asked, run)
            yield from ((place, found[numbers[place]]) for place in places)
            done += len(places)
            run.report(done, len(questions))

    def estimate(self, questions: Sequence[Question], run: Run = RUN) -> Estimate:
        """Return the cost of the questions, which is time only."""
        del run
        texts = list(dict.fromkeys(question.prompt for question in questions))
        into = sum(map(tokens_in, texts))
        return Estimate(len(texts), 0, into, len(texts), 0.0, texts[0] if texts else "")

    def _first_words(self, prompts: Sequence[str], run: Run) -> dict[str, Reply]:
        """Return answers of one token, with the log-probabilities of the words, by prompt."""
        plain = [prompt for prompt in dict.fromkeys(prompts) if not self._opened(prompt)]
        rows = compute(
            plain,
            self._first_tokens,
            lengths=[min(len(self._ids(prompt)), self._most) for prompt in plain],
            scope=lambda: self._content,
            run=replace(run, device=self._model.device.type),
        )
        return {
            prompt: Reply(self._text([int(row[-2])]), (self._step(row),))
            for prompt, row in zip(plain, rows)
            if np.exp(row[:-2]).sum() >= _LOW
        }

    def _sampled(self, prompt: str, numbers: Sequence[int], run: Run) -> dict[int, Reply]:
        """Return the answers with these numbers: from the stores, or generated."""
        scope = self._content if run.stores else None
        stores = run.stores if scope else ()
        scope = f"{scope} {self.sampling}"
        keys = [(prompt, number) for number in numbers]
        replies = {number: one for (_, number), one in stored(stores, scope, keys).items()}
        missing = set(numbers) - replies.keys()
        if missing:
            # Always from the first on: what a resumed run makes does not depend on the kill.
            for number, one in enumerate(self._generated(prompt, max(missing) + 1)):
                if number in missing:
                    store(stores, scope, (prompt, number), one)
                    replies[number] = one
        return replies

    def _generated(self, prompt: str, n: int) -> list[Reply]:
        """Return the first n answers to a prompt; the same prompt and seed give the same ones."""
        import torch
        from transformers import GenerationConfig

        wanted = self.sampling
        # A prompt that is too long keeps its end.
        room = 0 if self.words else min(wanted.max_tokens, self._most - 1)
        ids = self._ids(prompt)[-(self._most - room) :]
        room = int(min(wanted.max_tokens, self._reads - len(ids)))
        if room < 1:
            return [Reply("")] * n
        start = torch.tensor([ids], device=self._model.device)
        ends = self._model.generation_config.eos_token_id or self._tokenizer.eos_token_id
        more: dict[str, Any] = {"generation_config": GenerationConfig(eos_token_id=ends)}
        if wanted.temperature:
            more = {"temperature": wanted.temperature, "top_p": wanted.top_p or 1.0, "top_k": 0}
        replies, rows = [], list[Floats]()

        def watch(_ids: Any, logits: Any) -> Any:
            rows.append(self._row(logits)[0])
            return logits

        with torch.random.fork_rng(), torch.inference_mode():
            torch.manual_seed(int(json_digest([wanted.seed, prompt])[:8], 16))
            for first in range(0, n, _BATCH):
                generated = self._model.generate(
                    input_ids=start,
                    attention_mask=torch.ones_like(start),
                    max_new_tokens=room,
                    num_return_sequences=min(_BATCH, n - first),
                    pad_token_id=self._tokenizer.pad_token_id,
                    do_sample=wanted.temperature > 0,
                    logits_processor=[watch] if self.words else None,
                    **more,
                )
                for new in generated[:, len(ids) :].tolist():
                    end = next((i for i, one in enumerate(new) if one in np.atleast_1d(ends)), None)
                    replies.append(self._reply(prompt, new[:end], rows))
        return replies

    def _reply(self, prompt: str, ids: list[int], rows: Sequence[Any]) -> Reply:
        """Return the answer in generated tokens."""
        opened = self._opened(prompt)
        tokens = map(str, self._tokenizer.convert_ids_to_tokens(ids))
        steps = [self._step(row, token) for row, token in zip(rows, tokens)]
        if opened:
            steps.insert(0, Step(opened, 0.0))
        cut = len(ids) >= self.sampling.max_tokens
        found = reply(opened + self._text(ids), steps, cut=cut)
        text = found.text
        for special in self._tokenizer.all_special_tokens:
            text = text.replace(special, "")
        return found._replace(text=text)

    def _framed(self, prompt: str) -> str:
        if self.mode == "completion":
            return prompt
        turns, way_out = [("user", prompt)], 'use mode = "completion"'
        return in_chat(self._tokenizer, self.name, turns, asks=True, way_out=way_out)

    def _opened(self, prompt: str) -> str:
        return opened_thought(prompt) if self.mode == "chat" else ""

    def _ids(self, prompt: str) -> list[int]:
        # A chat template contains the start token.
        marks = self.mode == "completion"
        ids: list[int] = self._tokenizer(prompt, add_special_tokens=marks)["input_ids"]
        return ids

    def _text(self, ids: list[int]) -> str:
        return str(self._tokenizer.decode(ids))

    def _load(self, device: str | None) -> None:
        if self._model is not None:
            return
        tokenizer = padded(hub.tokenizer(self.name, self.revision))
        template = getattr(tokenizer, "chat_template", None)
        # Padding must not move the end of a prompt, where the answer begins.
        tokenizer.padding_side = "left"
        ids = [_ids_of(tokenizer, word) for word in self.words]
        if len(set().union(*ids)) < sum(map(len, ids)):
            words = " and ".join(map(show, self.words))
            raise ShroomError(
                f"{self.name}: {words} begin with the same token, so the first token of an answer "
                "does not distinguish them; use another model"
            )
        model = hub.model("causal", self.name, self.revision, device)
        self.mode = self.mode or ("chat" if template else "completion")
        self._reads = getattr(model.config, "max_position_embeddings", None) or math.inf
        self._most = int(min(tokenizer.model_max_length, self._reads, _LONGEST))
        self._word_ids, self._tokenizer, self._model = ids, tokenizer, model

    @cached_property
    def _content(self) -> str | None:
        """A text for all that answers depend on besides the prompt; ``None`` if unknown."""
        about = f"answer {self.words} {self.mode} {self._most} {self._model.device.type}"
        return hub.scope(about, self.name, self.revision)

    def _first_tokens(self, prompts: list[str]) -> Floats:
        """Return the row of the token after each prompt; see :meth:`_row`."""
        import torch

        # A prompt that is too long keeps its end, with the question.
        ids = {"input_ids": [self._ids(prompt)[-self._most :] for prompt in prompts]}
        inputs = dict(self._tokenizer.pad(ids, return_tensors="pt").to(self._model.device))
        inputs["position_ids"] = (inputs["attention_mask"].cumsum(-1) - 1).clamp(min=0)
        inputs["logits_to_keep"] = 1
        takes = inspect.signature(self._model.forward).parameters
        with torch.inference_mode():
            output = self._model(**{name: inputs[name] for name in inputs.keys() & takes.keys()})
            return self._row(output.logits[:, -1])

    def _row(self, logits: Any) -> Floats:
        """Return the log-probability of each word, and the likeliest token with its own, by row."""
        import torch

        logprobs = logits.float().log_softmax(-1)
        words = [logprobs[:, ids].logsumexp(-1) for ids in self._word_ids]
        likeliest = logprobs.max(-1)
        columns = (*words, likeliest.indices.to(logprobs), likeliest.values)
        return np.asarray(torch.stack(columns, 1).clamp(min=_NOTHING).cpu().numpy(), np.float64)

    def _step(self, row: Floats, token: str | None = None) -> Step:
        """Return the token of a row; the words take the place of its alternatives."""
        *logprobs, likeliest, logprob = row.tolist()
        token = self._text([int(likeliest)]) if token is None else token
        return Step(token, logprob, tuple(zip(self.words, logprobs)))


def _ids_of(tokenizer: Any, word: str) -> list[int]:
    """Return the ids of the tokens that mean a word, or else the id of its first token."""
    ids = [i for token, i in tokenizer.get_vocab().items() if bare(str(token)) == word]
    return sorted(ids) or tokenizer(word, add_special_tokens=False)["input_ids"][:1]
