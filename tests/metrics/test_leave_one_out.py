"""Each annotator against the others: against a loop over the definition, and made-up annotators."""

import numpy as np
import pytest

from shroom.metrics.leave_one_out import NamedVotes, left_out, usual_correlation


def crowd(n=200, k=5, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 0.6, n)
    votes = (rng.random((n, k)) < p[:, None]).astype(np.int8)
    votes[rng.random((n, k)) < 0.2] = -1
    return votes, rng


def named(votes):
    return NamedVotes.of_items(votes, [f"a{place}" for place in range(votes.shape[1])])


def test_figures_are_those_of_a_loop_over_the_definition():
    votes, _ = crowd()
    for column, result in enumerate(left_out(named(votes), count=50)):
        own, others, right = [], [], []
        for row in votes.tolist():
            rest = [vote for place, vote in enumerate(row) if place != column and vote >= 0]
            if row[column] < 0 or not rest:
                continue
            share = sum(rest) / len(rest)
            own.append(row[column])
            others.append(share)
            right.append(0.5 if share == 0.5 else float((share > 0.5) == row[column]))
        assert result.n == len(own)
        assert result.rate == pytest.approx(np.mean(own))
        assert result.others_rate == pytest.approx(np.mean(others))
        assert result.agreement == pytest.approx(np.mean(right))
        assert result.correlation == pytest.approx(np.corrcoef(own, others)[0, 1])
        assert result.agreement_ci[0] < result.agreement < result.agreement_ci[1]


def test_characters_count_by_their_number_and_texts_are_resampled():
    votes, _ = crowd(60)
    size = np.arange(60) % 7 + 1
    text = np.arange(60) // 3
    cells = left_out(NamedVotes(list("abcde"), votes, text, size.astype(float)), count=200)
    rows = np.repeat(np.arange(60), size)
    one = np.ones(len(rows))
    each = left_out(NamedVotes(list("abcde"), votes[rows], text[rows], one), count=200)
    for cell, character in zip(cells, each):
        assert cell.agreement_ci == pytest.approx(character.agreement_ci)
        assert cell.correlation == pytest.approx(character.correlation)
        assert cell.n == character.n <= 20


@pytest.mark.parametrize(
    ("replaced", "is_constant", "is_random"),
    [
        (lambda votes, _: votes[:, 0], False, False),
        (lambda votes, _: np.ones(len(votes)), True, False),
        (lambda votes, rng: rng.random(len(votes)) < 0.5, False, True),
        (lambda votes, _: votes[:, 0] == 0, False, True),
    ],
    ids=["honest", "always yes", "a coin", "reversed"],
)
def test_annotators_who_do_not_read_are_recognised(replaced, is_constant, is_random):
    votes, rng = crowd()
    votes[:, 0] = replaced(votes, rng)
    results = left_out(named(votes))
    usual = usual_correlation(results)
    assert (results[0].is_constant, results[0].is_random(usual)) == (is_constant, is_random)
    assert not any(one.is_constant or one.is_random(usual) for one in results[1:])


def test_a_rare_class_or_few_items_say_nothing_of_an_annotator():
    rare = (np.random.default_rng(1).random((300, 4)) < 0.03).astype(np.int8)
    assert not any(result.is_constant for result in left_out(named(rare)))
    few, _ = crowd(12)
    few[:, 0] = 1
    assert not any(one.is_constant or one.is_random(0.9) for one in left_out(named(few)))
    assert left_out(named(np.array([[1, -1], [-1, 0]], np.int8))) == []
