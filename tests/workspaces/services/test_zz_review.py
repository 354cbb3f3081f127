from datetime import *
from uuid import UUID
import pytest
from django.db import connection
from holamem.database.scope import ALL_SCOPES, workspace_scope, system_scope
from tests.faults.gates import claim, meet_at, once_at, run_together
from tests.faults.test_races import claim_events, received
from tests.workspaces.memory import *
from workspaces.models.jobs import Job
from workspaces.models.log import Event
from workspaces.models.trees import SourceLeaf
from workspaces.models.tenancy import Workspace
from workspaces.services.intake import receive_events
from workspaces.services.jobs import cancel_job
from workspaces.services.worker import run_job
from workspaces.recall_mark import open_fence, close_fence

def doc(text, **v):
    v.setdefault("kind", "document_revision"); v.setdefault("provider", "files"); v.setdefault("account", "docs")
    v.setdefault("external_id", "handbook.md")
    return draft(text, **v)

def active(workspace):
    from workspaces.bodies import read_markdown
    with workspace_scope(workspace, ALL_SCOPES):
        rows = list(workspace.leaves.filter(status="active").order_by("observed_at", "id"))
    return [read_markdown(r.body_path) for r in rows]

def test_recalled_long(workspace):
    filler = "\n\n".join(f"- The Atlas gateway number {n} listens on port {8000+n} and is owned by Mara Lindqvist. [E{n}]" for n in range(60))
    text = f"{open_fence('abc')}\n{filler}\n{close_fence('abc')}"
    [r] = remember(workspace, draft(text))
    print([(c.outcome, c.reason) for c in r.chunks])
    assert {c.outcome for c in r.chunks} == {"rejected"}

def test_revert(workspace):
    for n, t in enumerate(["Port is 1.", "Port is 2.", "Port is 1."]):
        remember(workspace, doc(t, minutes=n))
    assert active(workspace) == ["Port is 1."]

def para(word):
    return f"# {word}\n\n" + " ".join(f"The {word} service number {n} keeps its data in room {n} of {word}." for n in range(18))

def test_shrunk(workspace):
    a, b, c = para("Alpha"), para("Bravo"), para("Charlie")
    remember(workspace, doc("\n\n".join([a, b, c]), minutes=0))
    n = len(active(workspace))
    remember(workspace, doc("\n\n".join([b, c]), minutes=1))
    left = active(workspace)
    print(n, [t[:20] for t in left])
    assert not any("Alpha" in t for t in left)

def test_long_external_id(workspace):
    base = "https://example.org/" + "x" * 230
    remember(workspace, doc("Port is 1.", external_id=base + "/a"), doc("Colour is red.", external_id=base + "/b", minutes=1))
    assert len(active(workspace)) == 2

def test_two_revisions_at_once(workspace, monkeypatch):
    remember(workspace, doc("Intro.", external_id="other"))
    jobs = claim_events(workspace, doc("Port is 1.", minutes=1), doc("Port is 2.", minutes=2))
    meet_at(monkeypatch, "leaf.after_file", workers=2)
    run_together(jobs); monkeypatch.undo(); drain(workspace)
    assert active(workspace) == ["Intro.", "Port is 2."]

MONDAY = "The deployment window of the Atlas gateway is Monday from 10:00 to 12:00."
TUESDAY = "The deployment window of the Atlas gateway is now Tuesday from 10:00 to 12:00."
def test_two_values_at_once(workspace, monkeypatch):
    remember(workspace, draft("Mara Lindqvist owns the Atlas gateway."))
    jobs = claim_events(workspace, draft(MONDAY, minutes=1), draft(TUESDAY, minutes=2))
    meet_at(monkeypatch, "leaf.after_file", workers=2)
    run_together(jobs); monkeypatch.undo(); drain(workspace)
    assert MONDAY not in active(workspace)

def test_dup_of_superseded(workspace, monkeypatch):
    remember(workspace, draft(MONDAY))
    [late] = claim_events(workspace, draft(MONDAY, minutes=120))
    [mid] = claim_events(workspace, draft(TUESDAY, minutes=60))
    import workspaces.services.processing as p
    real = p._commit
    def slow(workspace, *, job, plan):
        if job.id == late.id and plan.resolution.kind == "duplicate":
            monkeypatch.setattr(p, "_commit", real)
            run_job(mid)
        return real(workspace, job=job, plan=plan)
    monkeypatch.setattr(p, "_commit", slow)
    run_job(late); drain(workspace)
    assert active(workspace) == [MONDAY]

def test_late_older_value(workspace):
    remember(workspace, draft(MONDAY)); remember(workspace, draft(MONDAY, minutes=120)); remember(workspace, draft(TUESDAY, minutes=60))
    assert active(workspace) == [MONDAY]

def test_cancel(workspace):
    [eid] = received(workspace, draft(MONDAY))
    with system_scope():
        job = Job.objects.get(target_id=eid)
    cancel_job(workspace, scopes=ALL_SCOPES, job_id=job.id)
    [r] = results_of(workspace, [eid])
    assert r.is_settled, r.status

def test_deadlock(workspace):
    import threading
    errors = []
    a = [draft(f"Fact {n}.", external_id=f"x{n}") for n in range(200)]
    def go(ds):
        try: receive_events(workspace, drafts=ds, principal=principal_of(workspace))
        except Exception as e: errors.append(repr(e)[:200])
        finally: connection.close()
    for _ in range(3):
        ts = [threading.Thread(target=go, args=(x,)) for x in (a, a[::-1])]
        [t.start() for t in ts]; [t.join() for t in ts]
        a = [draft(f"Fact {n}.", external_id=f"y{_}{n}") for n in range(200)]
    assert errors == []

def test_name_expands():
    from workspaces.services.placement import is_usable_name
    from holamem.text.normalise import normalise, normalise_name
    name = "\ufdfa" * 60
    print(len(normalise(name)), is_usable_name(name))
    assert not is_usable_name(name)

def test_runs():
    from workspaces.services.shortlist import name_runs
    from pathlib import Path
    han = "".join(chr(0x4e00 + (n * 37) % 20000) for n in range(1100))
    text = han + "，支付网关由陈霞负责。"
    assert "支付网关" in name_runs(text)

def test_two_docs_same_text(workspace):
    remember(workspace, doc("Licence: MIT.", external_id="a"), doc("Licence: MIT.", external_id="b", minutes=1))
    remember(workspace, doc("Licence: GPL.", external_id="a", minutes=2))
    assert sorted(active(workspace)) == ["Licence: GPL.", "Licence: MIT."]

def test_category_collision(workspace):
    from workspaces import access
    remember(workspace, doc("Port is 1.", provider="interaction", account="atlas-gateway"), draft(MONDAY))
    with workspace_scope(workspace): print(list(workspace.trees.values_list("category", "key")))
    with workspace_scope(workspace): assert len(set(workspace.trees.values_list("key"))) == 2

def test_runs2(workspace):
    from workspaces.services import shortlist
    import time, random
    from workspaces.models.entities import Entity
    rng = random.Random(1)
    han = "".join(chr(0x4e00 + rng.randrange(3000)) for n in range(1180))
    han = "，".join(han[i:i+18] for i in range(0, len(han), 18))
    text = han + "，龙腾网关由陈霞负责。"
    runs = shortlist.name_runs(text)
    print(len(runs), "龙腾网关" in runs)
    with workspace_scope(workspace):
        for n in range(3000):
            nm = "".join(chr(0x4e00 + rng.randrange(3000)) for _ in range(3)) + str(n)
            Entity.objects.create(workspace=workspace, scope_id=workspace.id, type="topic", slug=f"e{n}", name=nm, normalised_name=nm, normalised_names=[nm])
        ev = Event(workspace=workspace, scope_id=workspace.id)
        Entity.objects.create(workspace=workspace, scope_id=workspace.id, type="topic", slug="lt", name="龙腾网关", normalised_name="龙腾网关", normalised_names=["龙腾网关"])
        for _ in range(3):
            t = time.time(); got = shortlist._named(workspace, ev, text); print(len(got), round((time.time() - t)*1000,1), "ms")
    assert 0

def test_two_values_at_once_same_tree(workspace, monkeypatch):
    remember(workspace, draft("The Atlas gateway was rewritten in Go during the winter."))
    jobs = claim_events(workspace, draft(MONDAY, minutes=1), draft(TUESDAY, minutes=2))
    meet_at(monkeypatch, "leaf.after_file", workers=2)
    run_together(jobs); monkeypatch.undo(); drain(workspace)
    print(active(workspace))
    assert MONDAY not in active(workspace)
