"""Where the public files of each data set are: the table that :mod:`.fetch` follows.

A hash that is not known is ``None``, never a guess. Files of GitHub are named by commit, so that
what a URL gives does not change.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

from shroom.datasets.registry import data_set


@dataclass(frozen=True)
class File:
    """A public file.

    Attributes
    ----------
    name : str
        Name under which it is stored.
    licence : str
        As its source states it.
    urls : tuple of str
        Where it is, the origin first.
    archives : tuple of str
        Zip and tar files that contain it under any name: it is identified by its hash. They are
        tried after the ``urls``.
    size : int or None
        In bytes.
    sha256 : str or None
        ``None`` where that of the public file is not known.
    """

    name: str
    licence: str
    urls: tuple[str, ...] = ()
    archives: tuple[str, ...] = ()
    size: int | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class Source:
    """The public files of one data set.

    Attributes
    ----------
    name : str
        The data set's.
    files : tuple of File
        What is fetched.
    by_hand : str
        Further files and where to get them; empty if there are none.
    """

    name: str
    files: tuple[File, ...]
    by_hand: str = ""


def source(name: str) -> Source:
    """Return where the files of a data set are.

    Raises
    ------
    ShroomError
        If there is no data set of that name.

    Examples
    --------
    >>> source("felm").files[0].licence
    'CC BY-NC-SA 4.0'
    """
    return SOURCES[data_set(name).name]


def _github(repository: str, commit: str, path: str) -> tuple[str, str]:
    """Return the URLs of a file on GitHub: there, and on a network that copies it."""
    return (
        f"https://raw.githubusercontent.com/{repository}/{commit}/{path}",
        f"https://cdn.jsdelivr.net/gh/{repository}@{commit}/{path}",
    )


def _semeval2024() -> Source:
    licence = "CC BY-SA 4.0 (as stated on the hub)"
    kept = "bradleypallen/shroom"
    first, second, test = (
        "06394b2842fa2c7061f2314c7e179cc363f2efd7",
        "a498c90414a607e819678396dea229f778e5086f",
        "e1975331da2d91896d391ecbb1af40f3a2d77487",
    )

    def archive(name: str) -> tuple[str, ...]:
        """Return the URLs of one of the organisers' zips, as another team keeps them."""
        commit = "1d037915d5c31a324b961ce51d8fa43e78d02f5b"
        path = f"SHROOM_Dataset/{name}"
        return _github("z-rahimi-r/HalluSafe-at-SemEval-Task-6-SHROOM", commit, path)

    training = archive("SHROOM_unlabeled-training-data-v1.zip")
    return Source(
        "semeval2024",
        (
            File(
                "trial-v1.json",
                licence,
                archives=archive("SHROOM_trial-v1.1.zip"),
                size=31158,
                sha256="8000998423f8beebe2646f4ba0d76eac8f269f32a9a4440b009f153ed39b429a",
            ),
            File(
                "val.model-agnostic.json",
                licence,
                _github(kept, second, "dev/val.model-agnostic.json"),
                archive("SHROOM_dev-v2.zip"),
                size=226125,
                sha256="5ca9b6400b6dc1a86d69e1b8fa0d121275650f836fdba87fb23784d1d61ce611",
            ),
            File(
                "val.model-aware.v2.json",
                licence,
                _github(kept, second, "dev/val.model-aware.v2.json"),
                archive("SHROOM_dev-v2.zip"),
                size=302318,
                sha256="d623b90ee503809a6b331eebccff1ca209f63312c64a2fce3c0e2574779b9a54",
            ),
            File(
                "test.model-agnostic.json",
                licence,
                _github(kept, test, "prod/reference/test.model-agnostic.json"),
                archive("SHROOM_test-unlabeled.zip"),
                size=418028,
                sha256="6dfa0b8b2139966f6c7d4066dbdccbb4be19f939cd7ab6ed5c6ff2bc1aafb676",
            ),
            File(
                "test.model-aware.json",
                licence,
                _github(kept, test, "prod/reference/test.model-aware.json"),
                archive("SHROOM_test-unlabeled.zip"),
                size=658413,
                sha256="b655f2abb5bb02c753eab9dd4e5f851ae333dc2d7ef9ad8e708cf62d68cb486c",
            ),
            File(
                "train.model-agnostic.json",
                licence,
                archives=training,
                size=7905594,
                sha256="dead22eb9b11bbd5bf8e895d01e11ab517a7a7dcebe82f82c6349a3f235d86a3",
            ),
            File(
                "train.model-aware.json",
                licence,
                archives=training,
                size=9274990,
                sha256="da42852a9d71fb340faeb6297f6a86bd0ea88e68aa91d7ada98520fe7ed72493",
            ),
        ),
        by_hand=(
            "val.model-aware in its first wording is dev/val.model-aware.json in "
            f"https://github.com/{kept}/tree/{first}; the labelled test files are linked from "
            "https://helsinki-nlp.github.io/shroom/2024"
        ),
    )


def _mushroom2025() -> Source:
    commit = "c6a935caa4741058911aa804fb3829e3cc98fe2c"
    # The organisers' archive of all splits with their annotations; and, larger, their repository.
    archives = (
        "https://a3s.fi/mickusti-2007780-pub/mushroom-extra-info.tar.gz",
        f"https://github.com/Helsinki-NLP/mu-shroom/archive/{commit}.zip",
    )
    known = {
        "ar-val.v2": (130194, "65942384caa036f69b9feddd82c72ca268a466a9522424af362df62893432c15"),
        "de-tst.v1": (282935, "52c0b09bb47d6ff97080b629071fd11fd1a7c6ac12b019cbbf002128cba243c9"),
        "de-val.v2": (97124, "47765639d1e8057a726c45331808058e732ff5ec11c4a95a9d8f95bf500856d4"),
        "en-val.v2": (149006, "e629e5e085011f22b396b222538b0a21f5aae0b634798c4d0143bb58026cee4b"),
        "es-val.v2": (244000, "7803830bd6fe83ecfbdeb87c92b12d9320fc58f11122ada8d21532e46fdda643"),
        "fi-tst.v1": (347415, "a32a8f54333325e5129cd6a8ce78d0114c661edda7a18aee2146745c540cabb1"),
        "fi-val.v2": (112290, "dc1dcd989a8c7d8b87d4e12a29c4609994ee49022b468968e3b0aa3cae4f8c4c"),
        "fr-tst.v1": (517990, "9ddf53682e10d1610cae58c7bfd39d9d553b58e30e0582826718aadeae8d3ade"),
        "fr-val.v2": (228347, "9fc2fbd52b1f994c3ee5e4e206d2e8a40a63a5b058e23033460769843150002f"),
        "hi-tst.v1": (429855, "6ca70f9ce4cd174f524e85ee5a813b20a1df1e7349f9f0926530aa59ee0c489d"),
        "hi-val.v2": (163491, "322fa994a65230187df2dc7d96062d96a72a327c32c3d84ca8a45e8699b14609"),
        "it-val.v2": (84285, "619e126c91a62d1a26f9a7fdf520efeeae3d447df64638ae91f1b4038ae5a5c0"),
        "sv-val.v2": (73827, "7851d2cbeb60e289b767da292a3c6e81cd0c2e7aeaf91bc02d438550b9d2d508"),
        "zh-val.v2": (602825, "fd751f8b3fad3727205f5b95b16200d9c7db339bc736d996aa057ffe409844ed"),
    }
    return Source(
        "mushroom2025",
        tuple(
            File(f"mushroom.{split}.extra.jsonl", "none stated", (), archives, size, sha256)
            for split, (size, sha256) in known.items()
        ),
        by_hand=(
            "the labelled test of the other languages is linked from "
            "https://helsinki-nlp.github.io/shroom/2025"
        ),
    )


def _felm() -> Source:
    commit = "5d0791d41256d2c0531a2da2e6230fc3904e3f13"
    return Source(
        "felm",
        (
            File(
                "all.jsonl",
                "CC BY-NC-SA 4.0",
                _github("hkust-nlp/felm", commit, "eval/all.jsonl"),
                size=1920434,
                sha256="0dec248e1960719aa7da76a58bbaf06e660290f61a2aafbfa927ad9135ccddaa",
            ),
        ),
    )


_LIU = "nelson-liu/evaluating-verifiability-in-generative-search-engines"


def _verifiability() -> Source:
    name = "human_evaluation_annotations.jsonl"
    # This address, unlike that of raw files, also gives a file that is kept in large-file storage.
    return Source(
        "verifiability",
        (File(name, "MIT", (f"https://github.com/{_LIU}/raw/main/{name}",)),),
        by_hand=(
            "the Stanford-GenSearch pairs are the lines with that src_dataset in data/"
            "dev_all_subset_balanced.jsonl and data/test_all_subset_balanced_sampled500.jsonl of "
            "https://github.com/OSU-NLP-Group/AttributionBench (no licence stated)"
        ),
    )


def _queries() -> Source:
    exam, debate = (
        "e6848c1c09e19e1ec3ddd5290e44b05cfe15f100",
        "57afa9127197d78b925015f11caa07770bf0ed65",
    )
    return Source(
        "queries",
        (
            File(
                "allsouls.jsonl",
                "MIT",
                _github(_LIU, exam, "allsouls/allsouls.jsonl"),
                size=140476,
                sha256="13361e22b820d1a92f763d3b08f6706757fdd54d77ebc1d6b3954f435c04a68f",
            ),
            File(
                "davinci-debate-1k.jsonl",
                "MIT",
                _github(_LIU, debate, "davinci_debate/davinci-debate-1k.jsonl"),
                size=68368,
                sha256="047fdcbb4d866d9d09fe9f18a6f79ffef757366382f0b76b12cf026535f3ccbb",
            ),
            File(
                "davinci-debate-seed.jsonl",
                "MIT",
                _github(_LIU, debate, "davinci_debate/seed.jsonl"),
                size=6199,
                sha256="dd83e40de19cadc46bdfe37a1e457cbc68bcc74d635c3d430381c4ad8985652b",
            ),
        ),
    )


def _factual_consistency() -> Source:
    repository = "alexa/factual-consistency-analysis-of-dialogs"
    commit = "bcd3592e3f1eb3875916b43504bf9d1a5d7ffd2e"

    def file(path: str, size: int, sha256: str) -> File:
        urls = _github(repository, commit, f"human_annotations/{path}")
        return File(PurePosixPath(path).name, "CC BY-SA 4.0", urls, (), size, sha256)

    return Source(
        "factual_consistency",
        (
            file(
                "factual_dataset_crowd/dpr.csv",
                1452958,
                "0356b589903887fdfbed625c46abcb23098a50364d34d92ca68e02adfd22b9ea",
            ),
            file(
                "factual_dataset_crowd/gt.csv",
                886704,
                "919707863654b3dc5b59bc58dbd0d80aeadceed391c09b27f1c1d0807a01a2d3",
            ),
            file(
                "factual_dataset_crowd/knn.csv",
                881965,
                "18954592325b783339427bfa5d814d254762ec679d34571d9d340d9511a4e93f",
            ),
            file(
                "factual_dataset_expert.csv",
                720393,
                "2b6d8edc1bc0b774a328e56a0ce0af2b033c621779b91201ca43b1ccbdd544a7",
            ),
        ),
    )


def _dreamcatcher() -> Source:
    repository = "liangyuxin42/dreamcatcher"
    commit = "50ac3a51a94b3541d965836575118d4035e5b6fc"
    known = {
        "test_autolabeled.jsonl": (
            1639936,
            "f0262e10c379593d5e506aa52acd0042a5cb603055a2346c89c45c8d54a29d0a",
        ),
        "test_autoranked.jsonl": (
            69291,
            "15c2b633972d1ff8e6ffafd0a66ed1a67f0eae028e9a6a5f6548a16b4459e6a8",
        ),
        "test_generated.jsonl": (
            624630,
            "9112d242cfefbf29d3942c4852a5ac287baf8ef5b0f5674551d167c95ec81dd6",
        ),
    }
    return Source(
        "dreamcatcher",
        tuple(
            File(name, "none stated", _github(repository, commit, f"data/{name}"), (), *about)
            for name, about in known.items()
        ),
    )


#: By the name of the data set.
SOURCES = {
    found.name: found
    for found in (
        _semeval2024(),
        _mushroom2025(),
        _felm(),
        _verifiability(),
        _factual_consistency(),
        _dreamcatcher(),
        _queries(),
    )
}
