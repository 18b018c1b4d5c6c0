#!/usr/bin/env python3
"""A client for plans, in one file: python3 plan.py 'Compare two brands'.

It needs nothing but Debian's python3-websockets. It has a request worked off as a
plan and asks at the terminal what the plan asks. When the connection is
lost it comes back with resume_from and misses nothing.
"""

import argparse
import asyncio
import json
import os
import pathlib
import re
import sys
import urllib.error
import urllib.request
import uuid

import websockets

# Delays before reconnecting: 1 s, 2 s, 4 s, … at most 30 s.
INITIAL_DELAY, MAX_DELAY, MULTIPLIER = 1.0, 30.0, 2


class Rest:
    """What a plan needs of the hub besides the WebSocket: a session, and a request."""

    def __init__(self, url, token=None):
        self.url, self.token = url.rstrip("/"), token

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.url + path, method=method)
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, data, timeout=30) as answer:
            return json.loads(answer.read() or b"null")

    def new_session(self, title="A plan"):
        return self.call("POST", "/api/sessions", {"title": title})["sessionId"]


class PlanClient:
    """One connection to a session, which comes back by itself."""

    protocols = ["everdesk.v2"]

    def __init__(self, url, session, token=None, client_id=None):
        self.url = url.rstrip("/").replace("http", "ws", 1)
        self.session, self.token = session, token
        self.client_id = client_id or f"py_{uuid.uuid4().hex[:8]}"
        self.last_message_id = None
        self.ws = None

    async def connect(self):
        """Opens the connection. The first message is session_state."""
        address = f"{self.url}/ws/{self.session}?client_id={self.client_id}"
        if self.last_message_id:
            address += f"&resume_from={self.last_message_id}"
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        # With this subprotocol a reconnecting client gets the events it missed; without it, the whole state.
        self.ws = await websockets.connect(address, subprotocols=self.protocols, extra_headers=headers, max_size=None)

    async def close(self):
        if self.ws:
            await self.ws.close()

    async def receive(self):
        """The next message. Pings are answered, positions are remembered."""
        while True:
            message = json.loads(await self.ws.recv())
            if message["type"] == "ping":
                await self.send("pong")
                continue
            if message["type"] == "session_state":
                # A snapshot has its own position; a resume continues after ours.
                at = message["data"].get("last_message_id")
                if message["data"].get("mode") == "snapshot" and at:
                    self.last_message_id = at
            if message.get("message_id"):
                self.last_message_id = message["message_id"]
            return message

    async def send(self, type, **data):
        await self.ws.send(json.dumps({"type": type, "session_id": self.session, "data": data}))

    async def messages(self):
        """All messages, over as many connections as it takes."""
        delay = INITIAL_DELAY
        while True:
            try:
                await self.connect()
                delay = INITIAL_DELAY
                while True:
                    yield await self.receive()
            except (OSError, websockets.exceptions.ConnectionClosed, asyncio.TimeoutError) as lost:
                code = getattr(lost, "code", None)
                if code in (1000, 4401, 4403, 4404, 4410):
                    raise
                await asyncio.sleep(delay)
                delay = min(delay * MULTIPLIER, MAX_DELAY)

    # Commands for a plan.

    async def plan(self, text):
        await self.send("USER_MESSAGE", messageId=str(uuid.uuid4()), content=text, mode="plan")

    async def review(self, request_id, action, **more):
        await self.send("hitl_plan_response", request_id=request_id, action=action, **more)

    async def approve_todo(self, request_id, todo_id, action="approve", **more):
        await self.send("hitl_approval_response", request_id=request_id, todo_id=todo_id, action=action, **more)

    async def give(self, request_id, field, value):
        await self.send("hitl_input_response", request_id=request_id, field=field, value=value)

    async def clarify(self, request_id, value):
        await self.send("hitl_clarification_response", request_id=request_id, value=value)

    async def pause(self, reason=""):
        await self.send("control_pause", reason=reason)

    async def resume(self, *modifications):
        await self.send("control_resume", modifications=list(modifications))


def show(message):
    """A line for people about what happens, if it is worth one."""
    kind, data = message["type"], message.get("data", {})
    match kind:
        case "layer_start":
            return f"— {data['layer']}"
        case "plan_generated" | "plan_modified":
            todos = data.get("todos") or data["updated_todos"]
            return "\n".join(f"  {t['id']}: {t['task']}" + (f"  (after {', '.join(t['depends_on'])})" if t["depends_on"] else "") for t in todos)
        case "todo_started":
            return f"  {data['todo_id']} runs"
        case "todo_progress":
            return f"  {data['todo_id']} {data['progress_percentage']:.0f} % {data.get('current_step', '')}"
        case "todo_completed":
            return f"  {data['todo_id']} {data['status']}"
        case "todo_failed":
            return f"  {data['todo_id']} failed: {data['error']['message']}"
        case "hitl_paused":
            return f"— paused: {data.get('reason', '')}"
        case "error":
            return f"! {data['code']} {data['message']}"
        case "complete":
            return "\n" + data["response"]["text"]
        case "failed":
            return f"\nFailed: {data['error']['message']}"
    return None


async def typed(question):
    print(question, end=" ", flush=True)
    line = await asyncio.to_thread(sys.stdin.readline)
    if not line:
        raise EOFError("nobody is there to answer")
    return line.strip()


def hint(data):
    """What to type for a value that a todo needs."""
    match data["input_type"]:
        case "choice":
            return " / ".join(o["value"] for o in data["options"])
        case "multi":
            return ", ".join(o["value"] for o in data["options"]) + ": one or more"
        case "number":
            low, high = data.get("min"), data.get("max")
            return "a number" + (f" from {low}" if low is not None else "") + (f" to {high}" if high is not None else "")
        case "date":
            return "2026-02-01 to 2026-02-28" if data.get("range") else "2026-02-01"
        case "confirm":
            return "yes / no"
    return "text"


def parse(data, said):
    """The value that what was typed stands for. Raises ValueError with what is wanted."""
    said = said.strip()
    if not said:
        if data["required"] and data.get("default_value") is None:
            raise ValueError("an answer is needed")
        return data.get("default_value")
    kind, options = data["input_type"], [o["value"] for o in data.get("options") or []]
    if kind == "number":
        try:
            return float(said) if re.search(r"[.eE]", said) else int(said)
        except ValueError:
            raise ValueError(f"{said!r} is not a number") from None
    if kind == "confirm":
        if said.lower() in ("y", "yes", "true"):
            return True
        if said.lower() in ("n", "no", "false"):
            return False
        raise ValueError("type yes or no")
    if kind == "date" and data.get("range"):
        days = re.findall(r"\d{4}-\d\d-\d\d", said)
        if len(days) != 2:
            raise ValueError("type two dates, as in 2026-02-01 to 2026-02-28")
        return {"from": days[0], "to": days[1]}
    if kind == "date" and not re.fullmatch(r"\d{4}-\d\d-\d\d", said):
        raise ValueError("type a date, as in 2026-02-01")
    chosen = [word for word in re.split(r"[,\s]+", said) if word] if kind == "multi" else [said]
    if kind in ("choice", "multi") and (wrong := [word for word in chosen if word not in options]):
        raise ValueError(f"{wrong[0]!r} is not one of {', '.join(options)}")
    return chosen if kind == "multi" else said


async def value_for(data):
    """Asks for a value until what is typed fits."""
    while True:
        said = await typed(f"{data['question']} [{hint(data)}]")
        try:
            return parse(data, said)
        except ValueError as e:
            print(f"  {e}", flush=True)


async def ask(client, message):
    """Asks at the terminal what a plan asks."""
    data = message["data"]
    match message["type"]:
        case "hitl_plan_review":
            said = await typed("Run this plan? [yes / no / what to change]")
            if said in ("", "y", "yes"):
                await client.review(data["request_id"], "approve")
            elif said in ("n", "no"):
                await client.review(data["request_id"], "reject")
            else:
                await client.review(data["request_id"], "modify", instruction=said)
        case "hitl_approval_request":
            said = ""
            while said not in ("approve", "skip", "reject"):
                said = await typed(f"{data['todo']['task']}: {data['reason']} [approve / skip / reject]") or "approve"
            await client.approve_todo(data["request_id"], data["todo_id"], said)
        case "hitl_input_request":
            await client.give(data["request_id"], data["field"], await value_for(data))
        case "hitl_clarification":
            await client.clarify(data["request_id"], await typed(data["question"]))


REFUSED_ANSWER = 5002


async def work(url, token, request):
    rest = Rest(url, token)
    client = PlanClient(url, rest.new_session(), token)
    begun, asked = False, None
    async for message in client.messages():
        if line := show(message):
            print(line, flush=True)
        if message["type"] == "session_state" and not begun:
            begun = True
            await client.plan(request)
        elif message["type"] in ("hitl_plan_review", "hitl_approval_request", "hitl_input_request", "hitl_clarification"):
            asked = message
            await ask(client, asked)
        elif message["type"] == "error" and message["data"]["code"] == REFUSED_ANSWER and asked:
            await ask(client, asked)
        elif message["type"] in ("complete", "failed"):
            await client.close()
            return message["type"] == "complete"


def local_token():
    """The token that a hub with a file store leaves in its folder for its own user."""
    try:
        return pathlib.Path("everdesk-data", "token").read_text().strip()
    except OSError:
        return None


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--url", default="http://127.0.0.1:8080", help="where the hub is")
    options.add_argument("--token", default=os.environ.get("HUB_TOKEN") or local_token(),
                         help="the token in the URL that the hub prints, or one that hub token made; "
                              "by default HUB_TOKEN, or that of the hub whose data is in ./everdesk-data")
    options.add_argument("request")
    given = options.parse_args()
    try:
        sys.exit(0 if asyncio.run(work(given.url, given.token, given.request)) else 1)
    except EOFError as e:
        sys.exit(f"\n{e}; the plan waits")
    except urllib.error.HTTPError as e:
        more = "; give --token, which is in the URL that the hub printed" if e.code == 401 else ""
        sys.exit(f"the hub at {given.url} answered {e.code} {e.reason}{more}")
    except urllib.error.URLError as e:
        sys.exit(f"there is no hub at {given.url}: {e.reason}; start one with make run, or name another with --url")
    except websockets.exceptions.ConnectionClosed as e:
        sys.exit(f"the hub at {given.url} closed the connection: {e}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
