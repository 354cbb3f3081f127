from django.apps import AppConfig


class RetrievalConfig(AppConfig):
    name = "retrieval"

    def ready(self) -> None:
        from retrieval import erasing, topics, transferring, verify
        from retrieval.bench import crowd_plan

        crowd_plan.register()
        erasing.register()
        topics.register()
        transferring.register()
        verify.register()
