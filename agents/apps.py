from django.apps import AppConfig


class AgentsConfig(AppConfig):
    name = "agents"

    def ready(self) -> None:
        from agents import erasing, exporting, mcp, transferring, verify
        from agents.bench import parts
        from agents.distill import backlog, schedule
        from agents.distill import checks as distill_checks
        from agents.hot import checks
        from agents.services import flagged, status
        from agents.tools import outside, standard

        backlog.register()
        checks.register()
        distill_checks.register()
        erasing.register()
        exporting.register()
        flagged.register()
        mcp.register()
        schedule.register()
        standard.register()
        status.register()
        outside.register()
        parts.register()
        transferring.register()
        verify.register()
