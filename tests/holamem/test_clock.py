"""Time zones are looked up by name without walking the tz database every time."""

from zoneinfo import available_timezones

import pytest

from holamem import clock


@pytest.mark.parametrize("name", ["UTC", "Asia/Shanghai", "Pacific/Kiritimati"])
def test_zones_of_the_database_are_known(name: str) -> None:
    assert clock.is_known_zone(name)


@pytest.mark.parametrize("name", ["", "utc ", "Mars/Olympus", "../UTC", "asia/shanghai"])
def test_other_names_are_not(name: str) -> None:
    assert not clock.is_known_zone(name)


def test_the_database_is_walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    walks: list[int] = []

    def walk() -> set[str]:
        walks.append(1)
        return available_timezones()

    clock._zones.cache_clear()
    monkeypatch.setattr(clock, "available_timezones", walk)
    assert [clock.is_known_zone(name) for name in ("UTC", "UTC", "nowhere")] == [True, True, False]
    assert len(walks) == 1
