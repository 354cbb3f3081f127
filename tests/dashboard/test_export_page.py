"""Export as a page: asked for, made by a worker, fetched by admins."""

import re
from io import BytesIO
from zipfile import ZipFile

from tests.dashboard.pages import Memory, messages_in, page_of
from tests.dashboard.people import make_person, signed_in_client
from tests.workspaces.memory import drain


def test_an_admin_exports_the_workspace_and_fetches_the_archive(memory: Memory) -> None:
    address = memory.address("settings/exports/")
    admin = signed_in_client(make_person(memory.tenant, role="admin"))
    assert "Nothing has been exported yet" in page_of(admin.get(address))
    assert admin.post(f"{address}create/").status_code == 302
    page = page_of(admin.get(address))
    assert "queued" in messages_in(page)
    assert "hx-trigger" in page
    admin.post(f"{address}create/")
    assert "under way" in messages_in(page_of(admin.get(address)))
    drain(memory.workspace)
    page = page_of(admin.get(address))
    [archive] = re.findall(r'href="([^"]+/archive/)"', page)
    answer = admin.get(archive)
    assert answer["Content-Type"] == "application/zip"
    assert ZipFile(BytesIO(b"".join(answer.streaming_content))).testzip() is None
    member = signed_in_client(make_person(memory.tenant, role="member"))
    assert member.get(archive).status_code == 403
