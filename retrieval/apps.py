from django.apps import AppConfig


class RetrievalConfig(AppConfig):
    name = "retrieval"

    def ready(self) -> None:
        from retrieval import erasing, topics, verify

        erasing.register()
        topics.register()
        verify.register()
