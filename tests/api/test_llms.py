"""`GET /llms.txt` names addresses that exist."""

import re

from django.test import Client
from django.urls import resolve

from tests.api.client import Side


def test_every_address_of_the_page_is_one_of_ours(side: Side) -> None:
    response = Client().get("/llms.txt")
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    text = response.content.decode()
    addresses = re.findall(r"http://testserver(/[\w./{}:-]*[\w}])", text)
    assert len(addresses) >= 8
    for address in addresses:
        path = address.replace("{ws}", side.workspace.slug)
        assert resolve(path).view_name != "api-not-found", address
        assert "api_not_found" not in str(resolve(path).func), address
