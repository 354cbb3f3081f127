"""The doctor says what is there and what is missing, and shows no secret."""

import json
from io import StringIO

import pytest
from django.core.management import call_command
from pydantic import SecretStr

from holamem.environment import get_environment
from holamem.supervisor import doctor


def test_every_part_of_a_whole_installation_is_ok() -> None:
    found = {diagnosis.name: diagnosis for diagnosis in doctor.diagnose()}
    broken = [name for name, diagnosis in found.items() if diagnosis.state is doctor.State.FAILED]
    assert broken == []
    assert "pgvector" in found["database"].detail


def test_no_secret_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = get_environment()
    monkeypatch.setattr(environment, "openai_api_key", SecretStr("sk-very-secret"))
    password = environment.database_url.split(":")[2].split("@")[0]
    output = StringIO()
    with pytest.raises(SystemExit):
        call_command("doctor", "--json", stdout=output)
    assert "sk-very-secret" not in output.getvalue()
    assert password not in output.getvalue()
    assert json.loads(output.getvalue())["settings"]["OPENAI_API_KEY"] == "set"


def test_a_part_that_fails_is_named_and_ends_in_exit_code_two(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse() -> tuple[doctor.State, str]:
        raise OSError("password=hunter2")

    monkeypatch.setattr(doctor, "PROBES", (("body store", refuse),))
    [diagnosis] = doctor.diagnose()
    assert (diagnosis.state, diagnosis.detail) == (doctor.State.FAILED, "OSError")
    assert doctor.exit_code([diagnosis]) == 2
