# tests/test_websocket.py

import pytest
import asyncio
from websockets import connect

@pytest.mark.asyncio
async def test_websocket_connection():
    async with connect(f"ws://localhost:8000/ws/test_session") as ws:
        # 연결 후 session_state 수신
        message = await ws.recv()
        data = json.loads(message)
        assert data["type"] == "session_state"

@pytest.mark.asyncio
async def test_hitl_flow():
    async with connect(f"ws://localhost:8000/ws/test_session") as ws:
        # Plan review 대기
        while True:
            message = json.loads(await ws.recv())
            if message["type"] == "hitl_plan_review":
                # Plan 승인
                await ws.send(json.dumps({
                    "type": "hitl_plan_response",
                    "session_id": "test_session",
                    "data": {
                        "request_id": message["data"]["request_id"],
                        "action": "approve"
                    }
                }))
                break

        # Complete 대기
        while True:
            message = json.loads(await ws.recv())
            if message["type"] == "complete":
                assert message["data"]["status"] == "success"
                break
