#!/usr/bin/env python3
"""Runs plan.py's client against a real hub: python3 examples/plan_test.py.

HUB names the hub's program; without it, it is built. Nothing here knows more of the
protocol than its documents say.
"""

import asyncio
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import types
import unittest
import uuid

import websockets

import plan
from plan import PlanClient, Rest

TOP = pathlib.Path(__file__).resolve().parent.parent
PATIENCE = 120  # s; more than anything takes, so that a test that hangs says where


def todo(id, task, *depends_on, **more):
    return {"id": id, "task": task, "depends_on": list(depends_on), **more}


def graph(*todos):
    """A request whose plan the demo provider is given."""
    return "/plan " + json.dumps({"todos": todos})


class Hub:
    """A hub in a folder of its own, which can be killed and started where it was."""

    def __init__(self, program, folder, *flags):
        self.program, self.folder, self.flags = program, folder, flags
        self.url = None
        self.process = None
        self.start()

    def start(self):
        address = self.url.removeprefix("http://") if self.url else "127.0.0.1:0"
        self.process = subprocess.Popen(
            [self.program, "serve", "--addr", address, "--apps-addr", "127.0.0.1:0", "--store", f"file:{self.folder}/data",
             "--provider", "demo", *self.flags],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=self.folder, text=True,
        )
        for line in self.process.stdout:
            if found := re.search(r"Everdesk is running: (http://[^/?\s]+)(?:\S*[?&]token=([^&\s]+))?", line):
                self.url, self.token = found.groups()
                return
        raise AssertionError("the hub did not start")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Tab(PlanClient):
    """A connection that remembers what it heard."""

    def __init__(self, hub, session, name):
        super().__init__(hub.url, session, hub.token, name)
        self.heard = []

    async def receive(self):
        message = await asyncio.wait_for(super().receive(), PATIENCE)
        self.heard.append(message)
        return message

    async def until(self, *types, **fields):
        """The next message of one of the types whose data has the fields."""
        while True:
            message = await self.receive()
            data = message.get("data", {})
            if message["type"] in types and all(data.get(k) == v for k, v in fields.items()):
                return message
            if message["type"] == "failed" and "failed" not in types:
                raise AssertionError(f"the plan failed: {data}")

    async def hello(self):
        await self.connect()
        state = await self.receive()
        assert state["type"] == "session_state", state
        return state["data"]

    def types(self):
        return [m["type"] for m in self.heard]

    def positions(self):
        return [m["message_id"] for m in self.heard if m.get("message_id")]


class AtTheTerminal(unittest.TestCase):
    """The program as a person runs it."""

    def test_what_people_type(self):
        options = [{"value": "a", "label": "A"}, {"value": "b", "label": "B"}]
        for kind, said, want in [
            ({"input_type": "date", "range": True}, "2026-01-01 to 2026-02-01", {"from": "2026-01-01", "to": "2026-02-01"}),
            ({"input_type": "date"}, " 2026-02-28 ", "2026-02-28"),
            ({"input_type": "number"}, "4", 4),
            ({"input_type": "number"}, "4.5", 4.5),
            ({"input_type": "confirm"}, "Yes", True),
            ({"input_type": "multi", "options": options}, "a, b", ["a", "b"]),
            ({"input_type": "choice", "options": options}, "b", "b"),
            ({"input_type": "text"}, "라네즈", "라네즈"),
            ({"input_type": "text", "default_value": "x"}, "", "x"),
        ]:
            self.assertEqual(want, plan.parse({"required": True, **kind}, said), (kind, said))
        for kind, said in [
            ({"input_type": "date", "range": True}, "last month"),
            ({"input_type": "date"}, "tomorrow"),
            ({"input_type": "number"}, "many"),
            ({"input_type": "confirm"}, "perhaps"),
            ({"input_type": "multi", "options": options}, "a c"),
            ({"input_type": "choice", "options": options}, "c"),
            ({"input_type": "text"}, ""),
        ]:
            with self.assertRaises(ValueError, msg=(kind, said)):
                plan.parse({"required": True, **kind}, said)

    def run_plan(self, folder, hub, *flags, typed=""):
        return subprocess.run(
            ["/usr/bin/python3", TOP / "examples" / "plan.py", "--url", hub, *flags], input=typed, cwd=folder, text=True,
            capture_output=True, timeout=2 * PATIENCE, env={**os.environ, "HUB_TOKEN": ""},
        )

    def test_the_demo_plan_and_a_missing_token(self):
        with tempfile.TemporaryDirectory(prefix="everdesk-plan-") as folder:
            hub = Hub(program(), folder)
            self.addCleanup(hub.kill)
            refused = self.run_plan(folder, hub.url, "Compare two brands")
            self.assertEqual((1, True, False), (refused.returncode, "give --token" in refused.stderr, "Traceback" in refused.stderr), refused.stderr)
            asks = graph(todo("period", "/say noted", inputs=[{"field": "days", "question": "When?", "input_type": "date", "range": True, "required": True}]))
            done = self.run_plan(folder, hub.url, "--token", hub.token, asks, typed="yes\nlast month\n2026-01-01 to 2026-01-31\n")
            self.assertEqual((0, ""), (done.returncode, done.stderr), done.stdout)
            self.assertIn("type two dates", done.stdout)
        absent = self.run_plan("/", "http://127.0.0.1:1", "x")
        self.assertEqual((1, True, False), (absent.returncode, "there is no hub" in absent.stderr, "Traceback" in absent.stderr), absent.stderr)


class Plans(unittest.IsolatedAsyncioTestCase):
    flags = ()

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="everdesk-plan-")
        self.addCleanup(self.folder.cleanup)
        self.hub = Hub(program(), self.folder.name, *self.flags)
        self.addCleanup(lambda: self.hub.kill())
        self.session = Rest(self.hub.url, self.hub.token).new_session()

    async def tab(self, name="a"):
        tab = Tab(self.hub, self.session, name)
        await tab.hello()
        self.addAsyncCleanup(tab.close)
        return tab

    async def reviewed(self, tab, request):
        """Sends a request and waits for its review."""
        await tab.plan(request)
        return (await tab.until("hitl_plan_review"))["data"]

    async def approved(self, tab, request):
        review = await self.reviewed(tab, request)
        await tab.review(review["request_id"], "approve", comment="go")
        await tab.until("plan_approved")


class AsItIsWritten(Plans):
    """What the protocol's document says, message by message."""

    async def test_connection(self):
        tab = Tab(self.hub, self.session, "a")
        state = await tab.hello()
        self.assertEqual([], state["todos"])
        for nothing in ("current_layer", "plan", "hitl_pending"):
            self.assertIsNone(state[nothing])
        self.assertIn("status", state)
        self.assertIn("last_message_id", state)
        await tab.close()

    async def test_review_approve_complete(self):
        tab = await self.tab()
        review = await self.reviewed(tab, graph(todo("todo_001", "/say gathered", priority=10), todo("todo_002", "/say weighed", "todo_001")))
        self.assertEqual(["approve", "modify", "reject"], review["options"])
        self.assertEqual({"todo_001": [], "todo_002": ["todo_001"]}, review["plan"]["dependency_graph"])
        self.assertIn("graph", review["plan"]["mermaid_diagram"])
        self.assertGreater(review["timeout_sec"], 0)
        await tab.review(review["request_id"], "approve", comment="go")
        approved = await tab.until("plan_approved")
        self.assertEqual(review["plan_id"], approved["data"]["plan_id"])
        self.assertTrue(approved["data"]["execution_starting"])
        done = (await tab.until("complete"))["data"]
        self.assertEqual("success", done["status"])
        self.assertTrue(done["response"]["text"])
        self.assertEqual((2, 2, 0), tuple(done["statistics"][k] for k in ("total_todos", "completed", "failed")))
        types = tab.types()
        self.assertEqual(["cognitive", "planning", "execution", "response"], [m["data"]["layer"] for m in tab.heard if m["type"] == "layer_start"])
        self.assertEqual(["cognitive", "planning", "execution", "response"], [m["data"]["layer"] for m in tab.heard if m["type"] == "layer_complete"])
        self.assertLess(types.index("plan_generated"), types.index("hitl_plan_review"))
        order = [(m["type"], m["data"]["todo_id"]) for m in tab.heard if m["type"] in ("todo_started", "todo_completed")]
        self.assertEqual([("todo_started", "todo_001"), ("todo_completed", "todo_001"), ("todo_started", "todo_002"), ("todo_completed", "todo_002")], order)
        for m in tab.heard:
            self.assertEqual(self.session, m["session_id"])
            self.assertRegex(m["timestamp"], r"^\d{4}-\d\d-\d\dT[\d:.]+Z$")

    async def test_modified_in_review(self):
        tab = await self.tab()
        review = await self.reviewed(tab, graph(todo("one", "/say 1"), todo("two", "/say 2", "one")))
        await tab.review(review["request_id"], "modify", instruction="add a look at prices")
        changed = (await tab.until("plan_modified"))["data"]
        self.assertEqual((1, 2), (changed["old_version"], changed["new_version"]))
        self.assertIn("add", [c["action"] for c in changed["changes"]])
        again = (await tab.until("hitl_plan_review"))["data"]
        self.assertNotEqual(review["request_id"], again["request_id"])
        await tab.review(review["request_id"], "approve")
        self.assertEqual(5003, (await tab.until("error"))["data"]["code"])
        await tab.review(again["request_id"], "reject", comment="no")
        self.assertEqual("cancelled", (await tab.until("failed"))["data"]["status"])

    async def test_clarification(self):
        tab = await self.tab()
        await tab.plan("look at reviews ?clarify")
        asked = (await tab.until("hitl_clarification"))["data"]
        self.assertIn("?clarify", asked["original_input"])
        await tab.clarify(asked["request_id"], "라네즈")
        await tab.until("hitl_plan_review")

    async def test_pause_modify_resume(self):
        tab = await self.tab()
        await self.approved(tab, graph(todo("first", "/sleep 300ms; /say 1"), todo("second", "/say 2", "first"), todo("third", "/say 3", "second")))
        await tab.until("todo_started", todo_id="first")
        await tab.pause("look first")
        paused = (await tab.until("hitl_paused"))["data"]
        self.assertEqual(("user", "look first", "first", True), tuple(paused[k] for k in ("paused_by", "reason", "current_todo", "can_resume")))
        await tab.until("todo_completed", todo_id="first")
        await tab.resume(
            {"action": "remove", "todo_id": "third"},
            {"action": "add", "todo_id": "fourth", "task": "/say 4", "depends_on": ["second"]},
        )
        changed = (await tab.until("plan_modified"))["data"]
        self.assertEqual({("remove", "third"), ("add", "fourth")}, {(c["action"], c["todo_id"]) for c in changed["changes"]})
        await tab.until("complete")
        started = [m["data"]["todo_id"] for m in tab.heard if m["type"] == "todo_started"]
        self.assertEqual(["first", "second", "fourth"], started)

    async def test_retry_and_skip(self):
        tab = await self.tab()
        await self.approved(tab, graph(todo("bad", "/fail 9 no luck", max_retries=0), todo("after", "/say done", "bad"), todo("beside", "/say here")))
        failed = (await tab.until("todo_failed"))["data"]
        self.assertEqual((0, 0, "failed"), (failed["retry_count"], failed["max_retries"], failed["status"]))
        self.assertIn("recoverable", failed["error"])
        end = (await tab.until("failed"))["data"]
        self.assertEqual(("bad", ["beside"]), (end["error"]["failed_todo"], end["partial_results"]["completed_todos"]))
        await tab.send("control_skip", todo_id="bad", reason="not needed")
        await tab.until("todo_completed", todo_id="bad", status="skipped")
        done = (await tab.until("complete"))["data"]
        self.assertEqual("partial", done["status"])

    async def test_cancel(self):
        tab = await self.tab()
        await self.approved(tab, graph(todo("long", "/hang"), todo("never", "/say no", "long")))
        await tab.until("todo_started", todo_id="long")
        await tab.send("control_cancel", reason="enough")
        end = (await tab.until("failed"))["data"]
        self.assertEqual("cancelled", end["status"])
        await tab.send("control_resume")
        self.assertEqual(3003, (await tab.until("error"))["data"]["code"])

    async def test_two_tabs_answer(self):
        one, two = await self.tab("one"), await self.tab("two")
        review = await self.reviewed(one, graph(todo("only", "/say done")))
        await two.until("hitl_plan_review")
        await asyncio.gather(one.review(review["request_id"], "approve"), two.review(review["request_id"], "approve"))

        async def ended(tab):
            await tab.until("hitl_closed", request_id=review["request_id"])
            await tab.until("complete")

        def codes():
            return [m["data"]["code"] for tab in (one, two) for m in tab.heard if m["type"] == "error"]

        await asyncio.gather(ended(one), ended(two))
        if not codes():  # the hub may read the second answer when the plan is complete
            waiting = [asyncio.create_task(tab.until("error")) for tab in (one, two)]
            _, other = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in other:
                task.cancel()
        self.assertEqual([5003], codes())
        self.assertEqual(1, one.types().count("plan_approved"))

    async def test_the_same_answer_twice_has_one_effect(self):
        tab = await self.tab()
        review = await self.reviewed(tab, graph(todo("only", "/say done")))
        answer = {"request_id": review["request_id"], "action": "approve", "messageId": str(uuid.uuid4())}
        await tab.send("hitl_plan_response", **answer)
        await tab.send("hitl_plan_response", **answer)
        await tab.until("complete")
        self.assertEqual(1, tab.types().count("plan_approved"))
        self.assertNotIn("error", tab.types())

    async def test_nobody_answers_that_often(self):
        tab = await self.tab()
        for n in range(31):
            await tab.send("hitl_plan_response", request_id=f"hitl_no{n}", action="approve")
        await tab.until("error", code=1004)

    async def test_nonsense_is_refused_and_the_connection_lives(self):
        tab = await self.tab()
        await tab.send("hitl_plan_response", request_id="hitl_nothing", action="approve")
        self.assertEqual(5002, (await tab.until("error"))["data"]["code"])
        await tab.send("hitl_plan_response", request_id="x", action="maybe")
        wrong = (await tab.until("error"))["data"]
        self.assertEqual((5002, "action"), (wrong["code"], wrong["field"]))
        await tab.send("control_pause")
        self.assertEqual(3003, (await tab.until("error"))["data"]["code"])
        cycle = graph(todo("a", "x", "b"), todo("b", "y", "a"))
        await tab.plan(cycle)
        end = (await tab.until("failed"))["data"]
        self.assertEqual("PLAN_INVALID", end["error"]["code"])
        self.assertIn("a", end["error"]["message"])


class WithoutSubprotocol(Plans):
    """Clients that know the protocol's document and choose the name of their session."""

    flags = ("--auth", "none")

    def setUp(self):
        super().setUp()
        self.rest = Rest(self.hub.url)
        self.session = "test_session"

    async def tab(self, name="a", **known):
        tab = Tab(self.hub, self.session, name)
        tab.protocols, tab.last_message_id = None, known.get("resume_from")
        await tab.connect()
        self.addAsyncCleanup(tab.close)
        return tab

    def ask(self, request):
        self.rest.call("POST", f"/api/sessions/{self.session}/messages", {"content": request, "mode": "plan"})

    def documented(self):
        """The tests of the protocol's document as they are there, but for the address and a forgotten import."""
        source = (TOP / "examples/testdata/test_websocket.py").read_text()
        sys.modules.setdefault("pytest", types.SimpleNamespace(mark=types.SimpleNamespace(asyncio=lambda test: test)))
        names = {"json": json}
        exec(compile(source.replace("localhost:8000", self.hub.url.removeprefix("http://")), "test_websocket.py", "exec"), names)
        return names

    async def test_the_document(self):
        tests = self.documented()
        await asyncio.wait_for(tests["test_websocket_connection"](), PATIENCE)
        # The plan is requested before the test connects, so the question is sent again.
        watcher = await self.tab()
        self.ask(graph(todo("todo_001", "/say gathered")))
        await watcher.until("hitl_plan_review")
        await asyncio.wait_for(tests["test_hitl_flow"](), PATIENCE)
        await watcher.until("complete")
        self.assertEqual({"test_session"}, {m["session_id"] for m in watcher.heard})
        listed = [s["name"] for s in self.rest.call("GET", "/api/sessions")["sessions"] if "name" in s]
        self.assertEqual(["test_session"], listed)

    async def test_state_then_what_was_missed(self):
        tab = await self.tab()
        state = await tab.receive()
        self.assertEqual(state["message_id"], state["data"]["last_message_id"])
        for nothing in ("current_layer", "plan", "hitl_pending"):
            self.assertIsNone(state["data"][nothing], nothing)
        self.ask(graph(todo("todo_001", "/sleep 300ms; /say gathered")))
        review = await tab.until("hitl_plan_review")
        await tab.review(review["data"]["request_id"], "approve")
        await tab.until("todo_started")
        other = await self.tab("b", resume_from=review["message_id"])
        state = await other.receive()
        self.assertEqual(("session_state", "approved", "execution"),
                         (state["type"], state["data"]["plan"]["status"], state["data"]["current_layer"]))
        await other.until("complete")
        await tab.until("complete")
        missed = tab.positions()[tab.positions().index(review["message_id"]) + 1:]
        self.assertEqual(missed, other.positions()[1:])

    async def test_errors_for_everybody(self):
        tab = await self.tab()
        self.ask(graph(todo("bad", "/fail 9 no luck", max_retries=0)))
        review = await tab.until("hitl_plan_review")
        await tab.review(review["data"]["request_id"], "approve")
        error = (await tab.until("error"))["data"]
        self.assertEqual((4002, {"todo_id": "bad"}, True, "retry_or_skip"),
                         tuple(error[k] for k in ("code", "context", "recoverable", "suggested_action")))
        await tab.until("failed")

    async def test_many_at_once(self):
        tab = await self.tab()
        ids = [f"m{n}" for n in range(103)]

        async def send(ids):
            for id in ids:
                await tab.ws.send(json.dumps({"type": "EMIT", "message_id": id, "session_id": self.session,
                                              "data": {"actions": [{"type": "app.badge", "appId": "mail", "count": 1}]}}))

        await send(ids[:100])
        self.assertEqual(ids[:100], [(await tab.until("EMITTED"))["data"]["messageId"] for _ in range(100)])
        await send(ids[100:])
        with self.assertRaises(websockets.exceptions.ConnectionClosed) as closed:
            while True:
                await tab.receive()
        refused = [m["data"] for m in tab.heard if m["type"] == "error"]
        self.assertEqual([(1004, id) for id in ids[100:]], [(r["code"], r["messageId"]) for r in refused])
        self.assertTrue(all(r["retry_after_ms"] > 0 for r in refused), refused)
        self.assertEqual(4429, closed.exception.code)
        self.assertIn("retry_after=", closed.exception.reason)


class ManyAnswers(Plans):
    """More than a person gives in a minute."""

    flags = ("--rate-limits", "off")

    async def test_answers_of_every_type(self):
        inputs = [
            ("words", {"input_type": "text"}, "라네즈", 7),
            ("one", {"input_type": "choice", "options": [{"value": "1m", "label": "a month"}, {"value": "3m", "label": "three"}]}, "3m", "9m"),
            ("some", {"input_type": "multi", "options": [{"value": "a", "label": "A"}, {"value": "b", "label": "B"}]}, ["a", "b"], ["c"]),
            ("count", {"input_type": "number", "min": 1, "max": 10}, 4, 11),
            ("day", {"input_type": "date"}, "2026-02-28", "2026-02-30"),
            ("days", {"input_type": "date", "range": True}, {"from": "2026-01-01", "to": "2026-02-01"}, {"from": "2026-02-01", "to": "2026-01-01"}),
            ("sure", {"input_type": "confirm"}, True, "yes"),
        ]
        tab = await self.tab()
        asked = [{"field": field, "question": f"{field}?", "required": True, **how} for field, how, _, _ in inputs]
        await self.approved(tab, graph(todo("ask", "/say thanks", inputs=asked)))
        right = {field: (good, bad) for field, _, good, bad in inputs}
        for q in [(await tab.until("hitl_input_request"))["data"] for _ in inputs]:
            good, bad = right.pop(q["field"])
            await tab.give(q["request_id"], q["field"], bad)
            refused = (await tab.until("error"))["data"]
            self.assertEqual((5002, "value"), (refused["code"], refused["field"]), q["field"])
            await tab.give(q["request_id"], q["field"], good)
            closed = (await tab.until("hitl_closed"))["data"]
            self.assertEqual((q["request_id"], "answered", good), (closed["request_id"], closed["reason"], closed["value"]))
        await tab.until("complete")


class InTime(Plans):
    """Nobody answers."""

    flags = ("--plan-answer-time", "1s")

    async def test_review(self):
        tab = await self.tab()
        review = await self.reviewed(tab, graph(todo("only", "/say done")))
        closed = (await tab.until("hitl_closed"))["data"]
        self.assertEqual("expired", closed["reason"])
        end = (await tab.until("failed"))["data"]
        self.assertEqual(("cancelled", "HITL_TIMEOUT"), (end["status"], end["error"]["code"]))
        self.assertIn(5001, [m["data"]["code"] for m in tab.heard if m["type"] == "error"])
        await tab.review(review["request_id"], "approve")
        self.assertEqual(5003, (await tab.until("error"))["data"]["code"])

    async def test_the_default_is_taken(self):
        tab = await self.tab()
        span = {"field": "span", "question": "How long?", "input_type": "choice", "required": True, "default_value": "3m",
                "options": [{"value": "1m", "label": "a month"}, {"value": "3m", "label": "three"}]}
        await self.approved(tab, graph(todo("ask", "/say done", inputs=[span])))
        closed = (await tab.until("hitl_closed", reason="expired"))["data"]
        self.assertEqual("3m", closed["value"])
        await tab.until("complete")

    async def test_nobody_permits(self):
        tab = await self.tab()
        await self.approved(tab, graph(todo("dear", "/say done", estimated_cost_usd=5)))
        asked = (await tab.until("hitl_approval_request"))["data"]
        self.assertEqual(("dear", ["approve", "skip", "reject"]), (asked["todo_id"], asked["options"]))
        failed = (await tab.until("todo_failed"))["data"]
        self.assertEqual("HITL_TIMEOUT", failed["error"]["code"])
        await tab.until("failed")

    async def test_a_plan_that_stands_still_has_time(self):
        tab = await self.tab()
        review = await self.reviewed(tab, graph(todo("only", "/say done")))
        await tab.pause()
        await tab.until("hitl_paused")
        await tab.resume()
        again = (await tab.until("hitl_plan_review"))["data"]
        self.assertEqual(review["request_id"], again["request_id"])
        self.assertGreater(again["expires_at"], review["expires_at"])
        await tab.review(again["request_id"], "approve")
        await tab.until("complete")


class ComesBack(Plans):
    """Connections and hubs that are lost."""

    async def test_in_every_state(self):
        witness, tab = await self.tab("witness"), await self.tab("tab")
        plan = graph(
            todo("slow", "/sleep 200ms; /say 1"),
            todo("asks", "/say 2", "slow", inputs=[{"field": "days", "question": "When?", "input_type": "date", "range": True, "required": True}]),
            todo("dear", "/say 3", "asks", requires_approval=True),
        )

        async def again(status=None):
            """Loses the connection and comes back, to what was missed and nothing else."""
            await tab.close()
            self.assertEqual("resume", (await tab.hello())["mode"])
            if status:
                plain = Tab(self.hub, self.session, "plain")
                plain.protocols = None
                self.assertEqual(status, (await plain.hello())["status"])
                await plain.close()

        await tab.plan(plan + "\nlook around")
        await again()  # understood, planned
        review = (await tab.until("hitl_plan_review"))["data"]
        await again("waiting")
        await tab.review(review["request_id"], "approve")
        await tab.until("todo_started", todo_id="slow")
        await again("executing")
        q = (await tab.until("hitl_input_request"))["data"]
        await again("waiting")
        await tab.pause()
        await tab.until("hitl_paused")
        await again("paused")
        await tab.resume()
        await tab.until("hitl_input_request")
        await again("waiting")
        await tab.give(q["request_id"], "days", {"from": "2026-01-01", "to": "2026-01-31"})
        a = (await tab.until("hitl_approval_request"))["data"]
        await again("waiting")
        await tab.approve_todo(a["request_id"], a["todo_id"])
        await tab.until("complete")
        await again("idle")
        await witness.until("complete")
        last = tab.positions()[-1]
        while witness.positions()[-1] != last:
            await witness.receive()
        self.assertEqual(witness.positions(), tab.positions())  # nothing lost, repeated or in another order

    async def test_five_todos_and_a_hub_that_is_killed(self):
        tab = await self.tab()
        span = {"field": "span", "question": "Which months?", "input_type": "date", "range": True, "required": True}
        review = await self.reviewed(tab, graph(
            todo("gather", "/say gathered", priority=2),
            todo("shaky", "/fail 2 no luck", priority=1),
            todo("period", "/say noted", inputs=[span]),
            todo("report", "/say written", "gather", "shaky", requires_approval=True),
            todo("sum", "/sleep 500ms; /say all", "report", "period"),
        ))
        await tab.review(review["request_id"], "modify", instruction="add a look at prices")
        await tab.until("plan_modified")
        review = (await tab.until("hitl_plan_review"))["data"]
        self.assertEqual(6, len(review["plan"]["todos"]))
        await tab.review(review["request_id"], "approve")
        open = {}
        while {"hitl_input_request", "hitl_approval_request"} - open.keys():
            m = await tab.until("hitl_input_request", "hitl_approval_request")
            open[m["type"]] = m["data"]
        self.assertEqual(2, sum(m["type"] == "todo_failed" for m in tab.heard))
        await tab.pause()
        await tab.until("hitl_paused")

        self.hub.kill()
        self.hub.start()
        self.assertEqual("resume", (await tab.hello())["mode"])
        await tab.resume()
        await tab.until("hitl_resumed")
        await tab.give(open["hitl_input_request"]["request_id"], "span", {"from": "2026-01-01", "to": "2026-03-31"})
        a = open["hitl_approval_request"]
        await tab.approve_todo(a["request_id"], a["todo_id"])
        await tab.until("todo_started", todo_id="sum")
        self.hub.kill()  # in the middle of work
        self.hub.start()
        await tab.hello()
        done = (await tab.until("complete"))["data"]
        self.assertEqual(("success", 6), (done["status"], done["statistics"]["completed"]))
        completed = [m["data"]["todo_id"] for m in tab.heard if m["type"] == "todo_completed"]
        self.assertEqual(sorted(completed), sorted(set(completed)))
        self.assertEqual(tab.positions(), list(dict.fromkeys(tab.positions())))


def program():
    """The hub's program, built once if it is not given."""
    if "HUB" not in os.environ:
        path = pathlib.Path(tempfile.gettempdir()) / f"everdesk-plan-hub-{os.getpid()}"
        subprocess.run(["go", "build", "-o", path, "./cmd/hub"], cwd=TOP, check=True)
        os.environ["HUB"] = str(path)
    return os.environ["HUB"]


if __name__ == "__main__":
    unittest.main()
