"""`manage.py doctor`: what is set, what is reachable, what is missing. Exit 0, 1 warnings, 2 failures."""

import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand

from holamem.supervisor.doctor import diagnose, exit_code, settings_in_force


class Command(BaseCommand):
    help = "Say what is set, what is reachable and what is missing."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *args: Any, **options: Any) -> None:
        settings, found = settings_in_force(), diagnose()
        if options["as_json"]:
            answer = {
                "settings": {setting.name: setting.value for setting in settings},
                "checks": [asdict(diagnosis) for diagnosis in found],
            }
            self.stdout.write(json.dumps(answer, ensure_ascii=False))
        else:
            for setting in settings:
                self.stdout.write(f"{setting.name:32} {setting.value}")
            self.stdout.write("")
            for diagnosis in found:
                self.stdout.write(f"{diagnosis.state:8} {diagnosis.name:16} {diagnosis.detail}")
        sys.exit(exit_code(found))
