import pytest

from t3.verification.processes import side_by_side


def test_results_are_in_the_order_of_the_arguments():
    shares = []
    found = side_by_side(pow, [(2, 200_000, 10**9 + 7), (3, 2), (5, 3)], shares.append)
    assert found == [pow(2, 200_000, 10**9 + 7), 9, 125]
    assert shares == sorted(shares) and shares[-1] == 1


def test_an_error_ends_the_run():
    with pytest.raises(ZeroDivisionError):
        side_by_side(divmod, [(7, 2), (1, 0)], lambda share: None)
