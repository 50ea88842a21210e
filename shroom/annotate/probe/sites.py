"""Where in a causal model states are read: the kinds, and the modules that they come from."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shroom.core.problems import ShroomError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

#: The kinds of states, with what they are.
KINDS = {
    "layers": "what each block hands on; layer 0 is what goes into the first",
    "mlp": "what each block's MLP adds",
    "heads": "what each block's attention heads say, before the output projection",
}
#: The last layer once it is normalised, which a probe of the source's program may read.
FINAL = "final"
#: Paths in a block, of which the first that is there is the module whose output, or for heads
#: whose input, is read. The MLPs of Bloom and MPT add the residual themselves, so those of that
#: form are read before.
PATHS = {
    "mlp": (
        "mlp.dense_4h_to_h",
        "ffn.down_proj",
        "mlp",
        "feed_forward",
        "block_sparse_moe",
        "fc2",
        "output.dense",
    ),
    "heads": (
        "self_attn.o_proj",
        "self_attn.out_proj",
        "self_attn.dense",
        "attn.c_proj",
        "attn.out_proj",
        "attn.attention.out_proj",
        "attention.dense",
        "self_attention.dense",
        "attention.output.dense",
    ),
}


@dataclass(frozen=True)
class Site:
    """A place in a model.

    Attributes
    ----------
    kind : str
        One of ``KINDS``.
    layer : int
        From 1; of layers 0 as well.
    head : int or None
        From 0, for one attention head; ``None`` for all of them, and for the other kinds.

    Examples
    --------
    >>> str(Site("layers", 2)), str(Site("heads", 3, 1)), Site("heads", 3, 1).key
    ('layers 2', 'heads 3.1', 'heads.3')
    """

    kind: str
    layer: int
    head: int | None = None

    def __str__(self) -> str:
        return f"{self.kind} {self.layer}" + ("" if self.head is None else f".{self.head}")

    @property
    def key(self) -> str:
        """The name under which its states are stored; for one head, that of all heads."""
        return f"{self.kind}.{self.layer}"


class Blocks:
    """The blocks of a causal model, found by their number.

    Parameters
    ----------
    model : PreTrainedModel
        Any of transformers' causal models.
    name : str
        What messages call it.
    """

    def __init__(self, model: Any, name: str) -> None:
        import torch

        self.name = name
        about = model.config.get_text_config()
        self.heads = int(getattr(about, "num_attention_heads", None) or 1)
        number = getattr(about, "num_hidden_layers", None)
        # Parents come before their children, so that a list of experts is never the first.
        lists = (module for module in model.modules() if isinstance(module, torch.nn.ModuleList))
        blocks = next((module for module in lists if len(module) == number), None)
        if blocks is None:
            raise ShroomError(
                f"{name}: has no list of {number} blocks, so it is not known where its hidden "
                "states are; use a model of another architecture"
            )
        self.modules = list(blocks)

    def sites(self, kinds: Sequence[str], *, by_head: bool = False) -> list[Site]:
        """Return the places of some kinds, layer after layer.

        Raises
        ------
        ShroomError
            Where a block has no module that is known to be of a kind.
        """
        sites = []
        for kind in kinds:
            if kind != "layers":
                for block in self.modules:
                    self._inside(block, kind)
            for layer in range(kind != "layers", len(self.modules) + 1):
                heads = range(self.heads) if kind == "heads" and by_head else [None]
                sites += [Site(kind, layer, head) for head in heads]
        return sites

    @contextmanager
    def watched(self, sites: Sequence[Site], take: Callable[[Site, Any], None]) -> Iterator[None]:
        """Call ``take`` with each place's states, shape [rows, tokens, width], as they come."""
        handles = [self._hook(site, take) for site in sites]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _hook(self, site: Site, take: Callable[[Site, Any], None]) -> Any:
        def after(module: Any, inputs: Any, output: Any) -> None:
            del module, inputs
            take(site, output[0] if isinstance(output, tuple) else output)

        def before(module: Any, inputs: Any, named: Any) -> None:
            del module
            take(site, inputs[0] if inputs else named["hidden_states"])

        if site.layer == 0:
            return self.modules[0].register_forward_pre_hook(before, with_kwargs=True)
        block = self.modules[site.layer - 1]
        if site.kind == "layers":
            return block.register_forward_hook(after)
        module = self._inside(block, site.kind)
        if site.kind == "heads":
            return module.register_forward_pre_hook(before, with_kwargs=True)
        return module.register_forward_hook(after)

    def _inside(self, block: Any, kind: str) -> Any:
        """Return the module of a block that has the states of a kind."""
        there = dict(block.named_modules())
        for path in PATHS[kind]:
            if path in there:
                return there[path]
        has = ", ".join(name for name, _ in block.named_children())
        raise ShroomError(
            f"{self.name}: a block of its {type(block).__name__} has {has}, and none of "
            f"{', '.join(PATHS[kind])}, so its {kind} are not known; leave {kind} out of --states"
        )
