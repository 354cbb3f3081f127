"""The ASGI application: one thread a request, with the size of a body bounded before that.

Our views and middleware are synchronous. Django's own ASGI handler moves between threads for
every middleware, which cost half of a short request; running its WSGI handler in a pool of
threads crosses once. A view whose answer is a stream hands it over to the event loop.
"""

import gc
import os
from typing import Any, cast

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "holamem.settings")
django_application = get_wsgi_application()

from django.conf import settings  # noqa: E402 - settings exist once Django is set up

from holamem.database.schema import refuse_unservable_schema  # noqa: E402 - as above
from holamem.environment import get_environment  # noqa: E402 - as above
from holamem.http.body_limit import Application, BodyLimit  # noqa: E402 - as above
from holamem.http.door import Door  # noqa: E402 - as above
from holamem.http.handover import Handover  # noqa: E402 - as above
from holamem.http.threads import Threads  # noqa: E402 - as above

# The two packages describe the same protocols with types of their own.
threaded = cast(
    Application,
    Threads(cast(Any, django_application), workers=get_environment().web_threads),
)
# An archive that is sent as a form has some bytes more around it.
application = Door(
    BodyLimit(
        Handover(threaded),
        max_bytes=settings.MAX_BODY_BYTES,
        max_archive_bytes=get_environment().import_max_bytes + 64 * 1024,
    )
)

refuse_unservable_schema()

# What was loaded stays for good: collections need not walk it again and again.
gc.collect()
gc.freeze()
