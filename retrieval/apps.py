from django.apps import AppConfig


class RetrievalConfig(AppConfig):
    name = "retrieval"

    def ready(self) -> None:
        from retrieval import erasing, topics, transferring, verify

        erasing.register()
        topics.register()
        transferring.register()
        verify.register()
