"""`manage.py reembed`: make every vector again with the configured embedding model."""

import json
from argparse import ArgumentParser
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from holamem.errors import HolamemError
from holamem.providers.registry import embedder
from workspaces.models.index import EmbeddingModel
from workspaces.services.operators import find_workspaces
from workspaces.services.reindexing import (
    prepare_embedding_model,
    reembed_workspace,
    switch_embedding_model,
)


class Command(BaseCommand):
    help = (
        "Make the vectors of all memory with the configured embedding model, then switch to it."
        " May be stopped and run again: it goes on where it was."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *args: Any, **options: Any) -> None:
        client = embedder()
        try:
            model = prepare_embedding_model(name=client.model_name, dimension=client.dimension)
            made = self._embed_all(model)
            switch_embedding_model(model)
            made += self._embed_all(model)  # what a worker wrote with the old model meanwhile
        except HolamemError as error:
            raise CommandError(error.message) from error
        line = {"model": model.name, "dimension": model.dimension, "vectors": made}
        if options["as_json"]:
            self.stdout.write(json.dumps(line))
        else:
            self.stdout.write(f"{made} vectors made with {model}.")

    def _embed_all(self, model: EmbeddingModel) -> int:
        made = 0
        for workspace in find_workspaces():
            say = partial(self._say, workspace.slug)
            made += reembed_workspace(workspace, model=model, on_batch=say)
        return made

    def _say(self, slug: str, count: int) -> None:
        self.stderr.write(f"{slug}: {count}")
