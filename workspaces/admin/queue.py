"""The queue's own pages are taken away: task arguments and results are not for the browser.

Work is looked at in the job ledger. The import comes first, so that the queue's registration has
happened before it is undone, whatever the order of installed apps.
"""

import django_q.admin  # noqa: F401 - registers the pages that are taken away below
from django.contrib import admin
from django_q.models import Failure, OrmQ, Schedule, Success

for model in (Success, Failure, OrmQ, Schedule):
    if admin.site.is_registered(model):
        admin.site.unregister(model)
