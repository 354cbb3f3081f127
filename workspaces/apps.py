from django.apps import AppConfig


class WorkspacesConfig(AppConfig):
    name = "workspaces"

    def ready(self) -> None:
        from workspaces import topics
        from workspaces.services import gauges, idempotency_erasing
        from workspaces.services.corrections import undo
        from workspaces.services.entities import undo as entity_undo
        from workspaces.services.transfer import transfers

        topics.register()
        gauges.register()
        idempotency_erasing.register()
        transfers.register_erasing()
        undo.register()
        entity_undo.register()
