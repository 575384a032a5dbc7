"""The token bucket of a credential, on a clock of the test."""

from __future__ import annotations

import pytest

from server.http.rates import IDENTITIES_MAX, Rates
from shared.errors import RateLimited
from shared.principal import ANYONE, KEY_IDENTITY, Principal


class Clock:
    def __init__(self) -> None:
        self.now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


def test_a_burst_is_let_through_and_the_next_call_waits_for_its_token() -> None:
    clock = Clock()
    rates = Rates(per_s=5, clock=clock)
    assert [rates.wait_s("a") for _ in range(10)] == [0.0] * 10
    assert rates.wait_s("a") == 0.2
    clock.now_s += 0.2
    assert rates.wait_s("a") == 0.0
    assert rates.wait_s("a") > 0


def test_credentials_do_not_share_a_bucket() -> None:
    rates = Rates(per_s=1, clock=Clock())
    while not rates.wait_s("a"):
        pass
    assert rates.wait_s("b") == 0.0


def test_a_slow_rate_lets_one_call_through_at_a_time() -> None:
    clock = Clock()
    rates = Rates(per_s=0.1, clock=clock)
    assert rates.wait_s("a") == 0.0
    assert rates.wait_s("a") == 10.0


def test_a_page_is_let_in_at_a_slow_rate_too_and_all_of_it_is_waited_for() -> None:
    # Fails without `calls` in admit.
    clock = Clock()
    rates, principal = Rates(per_s=1, clock=clock), Principal(identity="token:1")
    rates.admit(principal, calls=20)
    with pytest.raises(RateLimited) as refused:
        rates.admit(principal)

    assert refused.value.retry_after_s == 19


def test_the_unbound_key_and_callers_without_one_are_not_limited() -> None:
    rates = Rates(per_s=0.01, clock=Clock())
    for principal in [ANYONE, Principal(identity=KEY_IDENTITY)] * 10:
        rates.admit(principal, calls=20)


def test_buckets_are_bounded() -> None:
    rates = Rates(per_s=1, clock=Clock())
    for number in range(IDENTITIES_MAX + 10):
        rates.wait_s(str(number))
    assert len(rates._buckets) == IDENTITIES_MAX
