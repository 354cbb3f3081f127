from django.apps import AppConfig


class AgentsConfig(AppConfig):
    name = "agents"

    def ready(self) -> None:
        from agents import erasing, exporting, mcp, transferring, verify
        from agents.bench import parts
        from agents.distill import checks as distill_checks
        from agents.distill import schedule
        from agents.hot import checks
        from agents.services import status
        from agents.tools import outside, standard

        checks.register()
        distill_checks.register()
        erasing.register()
        exporting.register()
        mcp.register()
        schedule.register()
        standard.register()
        status.register()
        outside.register()
        parts.register()
        transferring.register()
        verify.register()
