"""Codabench's rules for submissions and leaderboards, written out.

They follow its source at commit c7dbc75 (March 2026), which is named at each function; its code was
read, not copied. What the rules need of the database is a list of submissions in memory.
"""

import contextlib
import io
import runpy
import shutil
import sys
import zipfile
from dataclasses import dataclass, field
from itertools import count
from statistics import mean

import yaml
from platform_worker import unzip

#: ``Leaderboard.AUTO_SUBMISSION_RULES`` in ``src/apps/leaderboards/models.py``.
AUTOMATIC = ("Force_Last", "Force_Best", "Force_Latest_Multiple")
#: ``RERUN_SUBMISSION_LIMIT`` in ``src/settings/base.py``.
RERUN_LIMIT = 30


@dataclass
class Submission:
    """The columns of the table of submissions that the rules look at."""

    id: int
    owner: str
    phase: int
    files: dict
    task: int
    status: str = "Submitting"
    scores: dict = field(default_factory=dict)
    listed: bool = False
    logs: str = ""
    page: str = ""
    output: bytes = b""


class Codabench:
    """A competition made of a bundle, with its submissions."""

    def __init__(self, bundle, root, *, is_queue_ours=False):
        self.root, self.is_queue_ours, self.ids = root, is_queue_ours, count(1)
        self.submissions = []
        self.files = unzip(io.BytesIO(bundle), root / "competition")
        self.about = yaml.safe_load((self.files / "competition.yaml").read_text())
        self.board = self.about["leaderboards"][0]
        self.programs = [self.files / task["scoring_program"] for task in self.about["tasks"]]

    def submit(self, owner, phase, files):
        """``SubmissionCreationSerializer`` in ``src/apps/api/serializers/submissions.py``."""
        (task,) = self.about["phases"][phase]["tasks"]
        return self._started(Submission(next(self.ids), owner, phase, files, task))

    def rerun(self, phase):
        """``PhaseViewSet.rerun_submissions`` in ``src/apps/api/views/competitions.py``.

        The user is an organiser. ``Submission.re_run`` in ``src/apps/competitions/models.py`` makes
        a new submission with the task of the old one, which stays where it is.
        """
        old = [it for it in self.submissions if it.phase == phase]
        if len(old) > RERUN_LIMIT and not (self.about.get("queue") and self.is_queue_ours):
            raise PermissionError(f"You cannot rerun more than {RERUN_LIMIT} submissions")
        return [
            self._started(Submission(next(self.ids), it.owner, phase, it.files, it.task))
            for it in old
        ]

    def _started(self, submission):
        """``run_wrapper`` and ``Run.start`` in ``compute_worker/compute_worker.py``.

        The status is Finished before the scores are sent, and a program that does not exit with 0
        is Failed: neither scores nor output are sent then.
        """
        self.submissions.append(submission)
        place = self.root / f"run-{submission.id}"
        unzip(self.programs[submission.task], place / "program")
        reference = self.about["tasks"][submission.task]["reference_data"]
        unzip(self.files / reference, place / "input" / "ref")
        for name, content in submission.files.items():
            path = place / "input" / "res" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(content)
        (place / "output").mkdir()
        metadata = yaml.safe_load((place / "program" / "metadata.yaml").read_text())
        options = [word for word in metadata["command"].split() if word.startswith("--")]
        before = list(sys.path)
        main = runpy.run_path(str(place / "program" / "score.py"))["main"]
        sys.path[:] = before
        logs = io.StringIO()
        with contextlib.redirect_stdout(logs), contextlib.redirect_stderr(logs):
            code = main([str(place / "input"), str(place / "output"), *options])
        submission.logs = logs.getvalue()
        submission.page = (place / "output" / "detailed_results.html").read_text()
        submission.status = "Failed" if code else "Finished"
        if not code:
            scores = yaml.safe_load((place / "output" / "scores.json").read_text())
            self.upload_scores(submission, scores)
            packed = shutil.make_archive(str(place / "scoring_result"), "zip", place / "output")
            submission.output = (place / packed).read_bytes()
        return submission

    def upload_scores(self, submission, scores):
        """``upload_submission_scores`` in ``src/apps/api/views/submissions.py``.

        A score has ten digits before the point and ten behind it (``SubmissionScore`` in
        ``src/apps/leaderboards/models.py``); ``Submission.calculate_scores`` in
        ``src/apps/competitions/models.py`` adds the columns that are computed.
        """
        columns = self.board["columns"]
        for column in columns:
            if column["key"] in scores:
                assert abs(scores[column["key"]]) < 1e10
                submission.scores[column["index"]] = round(scores[column["key"]], 10)
        for column in columns:
            of = [submission.scores.get(index) for index in column.get("computation_indexes", ())]
            if any(value is not None for value in of):
                submission.scores[column["index"]] = mean(it for it in of if it is not None)
        self._put_on_leaderboard(submission)

    def _put_on_leaderboard(self, submission):
        """``StrategyFactory`` and its strategies in ``src/apps/leaderboards/strategies.py``."""
        rule = self.board.get("submission_rule", "Add")
        own = [
            it
            for it in self.submissions
            if (it.owner, it.phase) == (submission.owner, submission.phase)
        ]
        if rule in ("Force_Last", "Force_Best"):
            for other in own:
                other.listed = False
        if rule == "Force_Best":
            finished = [it for it in own if it.status == "Finished"]
            min(finished, key=self._order).listed = True
        elif rule in AUTOMATIC:
            submission.listed = True

    def add(self, submission):
        """``submission_leaderboard_connection`` in ``src/apps/api/views/submissions.py``."""
        rule = self.board.get("submission_rule", "Add")
        if rule in AUTOMATIC:
            raise PermissionError("Users are not allowed to edit the leaderboard")
        if rule != "Add_And_Delete_Multiple":
            for other in self.submissions:
                if (other.owner, other.phase) == (submission.owner, submission.phase):
                    other.listed = False
        submission.listed = True

    def _order(self, submission):
        """``LeaderboardPhaseSerializer`` in ``src/apps/api/serializers/leaderboards.py``.

        The first column counts, then the next ones, then the time. PostgreSQL puts NULL after every
        value if it sorts upwards, and so before every value if it sorts downwards.
        """
        key = []
        for column in self.board["columns"]:
            value = submission.scores.get(column["index"])
            if column["sorting"] == "desc":
                key.append((value is not None, -(value or 0)))
            else:
                key.append((value is None, value or 0))
        return (*key, submission.id)

    def leaderboard(self, phase):
        """``LeaderboardPhaseSerializer.get_submissions``, in the same file."""
        listed = (it for it in self.submissions if it.listed and it.phase == phase)
        return sorted(listed, key=self._order)

    def seen(self, submission):
        """``SubmissionFilesSerializer`` in ``src/apps/api/serializers/submissions.py``.

        The user is its owner. ``SubmissionSerializer`` gives the scores in every phase, and
        ``get_detail_result`` in ``src/apps/api/views/submissions.py`` the page.
        """
        phase = self.about["phases"][submission.phase]
        is_output_hidden = phase.get("hide_output") or phase.get("hide_score_output")
        output = [] if is_output_hidden or not submission.output else contents(submission.output)
        logs = "" if phase.get("hide_output") else submission.logs
        return submission.scores, submission.page, logs, output


def contents(packed):
    """The files of a zip by name."""
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
