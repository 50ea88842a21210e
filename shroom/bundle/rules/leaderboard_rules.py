"""The rules for leaderboards and their columns."""

from __future__ import annotations

from shroom.bundle.rules.rule import Breaches, Competition, at, doubled, entries, is_scalar, rule
from shroom.core.printing import show


@rule("leaderboard", "There is a leaderboard, and it has columns.")
def _leaderboard(competition: Competition) -> Breaches:
    if competition.data.get("leaderboards") == []:
        yield "leaderboards", "expected at least one, got none"
    for place, board in competition.tables("leaderboards"):
        if board.get("columns") == []:
            yield at(place, "columns"), "expected at least one, got none"


@rule("one-leaderboard", "There is one leaderboard: all phases use the first.", refused=False)
def _one_leaderboard(competition: Competition) -> Breaches:
    for place, _ in competition.tables("leaderboards")[1:]:
        yield place, "expected no other leaderboard, got one, which no phase uses"


@rule("column-key", "Each column of a leaderboard has a key of its own.")
def _column_key(competition: Competition) -> Breaches:
    for _, columns in competition.boards:
        yield from doubled(columns, "key")


@rule("column-index", "Each column of a leaderboard has an index of its own.")
def _column_index(competition: Competition) -> Breaches:
    for _, columns in competition.boards:
        yield from doubled(columns, "index")


@rule("computation", "A computed column has a computation, and the indexes of other columns.")
def _computation(competition: Competition) -> Breaches:
    for _, columns in competition.boards:
        indexes = [index for _, column in columns if is_scalar(index := column.get("index"))]
        for place, column in columns:
            sources = column.get("computation_indexes")
            if "computation" in column and "computation_indexes" not in column:
                yield (
                    at(place, "computation_indexes"),
                    "expected a list beside computation, got none",
                )
            if sources and "computation" not in column:
                yield at(place, "computation"), "expected one for computation_indexes, got none"
            others = {str(index) for index in indexes if index != column.get("index")}
            right = isinstance(sources, list) and all(
                is_scalar(source) and str(source) in others for source in entries(sources)
            )
            if sources is not None and sources != [] and not right:
                expected = "a list of indexes of other columns"
                yield at(place, "computation_indexes"), f"expected {expected}, got {show(sources)}"


@rule("primary-index", "The leaderboard is ordered by one of its columns.")
def _primary_index(competition: Competition) -> Breaches:
    for (place, board), columns in competition.boards:
        primary = board.get("primary_index", 0)
        indexes = [index for _, column in columns if is_scalar(index := column.get("index"))]
        if columns and is_scalar(primary) and primary not in indexes:
            yield at(place, "primary_index"), f"expected the index of a column, got {show(primary)}"


@rule("shown-column", "A leaderboard shows at least one column.")
def _shown_column(competition: Competition) -> Breaches:
    for (place, _), columns in competition.boards:
        if columns and all(column.get("hidden") is True for _, column in columns):
            yield at(place, "columns"), "expected one that is not hidden, got none"


@rule("hidden-column", "A hidden column breaks no ties.", refused=False)
def _hidden_column(competition: Competition) -> Breaches:
    for (_, board), columns in competition.boards:
        for place, column in columns:
            ranks = column.get("index") == board.get("primary_index", 0)
            if column.get("hidden") is True and not ranks:
                yield at(place, "hidden"), "expected false for a column that breaks ties, got true"
