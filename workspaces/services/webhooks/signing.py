"""Signatures as Standard Webhooks has them: HMAC-SHA256 over id, time and body."""

import base64
import hashlib
import hmac
from datetime import datetime

from django.utils.crypto import salted_hmac

from workspaces.models.webhooks import Webhook

PREFIX = "whsec_"
PURPOSE = "holamem.webhook"


def secret_of(webhook: Webhook) -> str:
    """Derived from the installation's key, so that no row and no backup holds it."""
    return PREFIX + base64.b64encode(_key(webhook)).decode()


def signed_headers(
    webhook: Webhook, *, message_id: str, moment: datetime, body: bytes
) -> dict[str, str]:
    """A receiver recomputes the signature, and refuses a time that is long ago."""
    seconds = str(int(moment.timestamp()))
    content = b".".join([message_id.encode(), seconds.encode(), body])
    digest = hmac.new(_key(webhook), content, hashlib.sha256).digest()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": seconds,
        "webhook-signature": "v1," + base64.b64encode(digest).decode(),
    }


def _key(webhook: Webhook) -> bytes:
    value = f"{webhook.id}:{webhook.salt}"
    return bytes(salted_hmac(PURPOSE, value, algorithm="sha256").digest())
