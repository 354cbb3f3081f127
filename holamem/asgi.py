"""The ASGI application; the size of a body is bounded before Django spools it."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "holamem.settings")
django_application = get_asgi_application()

from django.conf import settings  # noqa: E402 - settings exist once Django is set up

from holamem.http.body_limit import BodyLimit  # noqa: E402 - as above

application = BodyLimit(django_application, max_bytes=settings.MAX_BODY_BYTES)
