"""Parallel tests in Python: each test has a world of one running mock. Needs the standard library alone.

Usage: WORKSPACE_TASKS_BASE_URL=http://127.0.0.1:4010 python3 parallel-tests.py
"""

# #region world
import json
import os
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

MOCK = os.environ.get("WORKSPACE_TASKS_BASE_URL", "http://127.0.0.1:4010")


def call(method, url, body=None, token=None):
    headers = {"content-type": "application/json"}
    if token:
        headers["authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, headers=headers, method=method)
    with urllib.request.urlopen(request) as response:
        text = response.read()
    return json.loads(text) if text else None


@contextmanager
def new_world(**options):
    world = call("POST", f"{MOCK}/_mock/v1/worlds", options)
    try:
        yield world
    finally:
        call("DELETE", f"{MOCK}/_mock/v1/worlds/{world['name']}")
# #endregion


# #region test
EXCHANGE = """mutation ($key: String!) {
  exchangeSurfaceRefreshTokenForAccessTokens(refreshToken: $key) { workspaceToken }
}"""


def token_of(world):
    body = {"query": EXCHANGE, "variables": {"key": world["apiKey"]}}
    data = call("POST", f"{world['baseUrl']}/graphql", body)["data"]
    return data["exchangeSurfaceRefreshTokenForAccessTokens"]["workspaceToken"]


def test_a_task_ends(number):
    with new_world(clock="virtual") as world:
        control = f"{world['baseUrl']}/_mock/v1"
        for _ in range(number):
            call("POST", f"{control}/tasks", {"taskType": "TAX_PREP"})
        call("POST", f"{control}/clock/advance", {"by": "1m"})
        tasks = call("GET", f"{control}/tasks?status=COMPLETED")["data"]
        assert len(tasks) == number, f"expected {number} tasks, got {len(tasks)}"
        me = call("POST", f"{world['baseUrl']}/graphql", {"query": "{ me { __typename } }"}, token_of(world))
        assert me["data"]["me"]["__typename"] == "WorkspaceUser", me


with ThreadPoolExecutor(8) as threads:
    list(threads.map(test_a_task_ends, range(1, 17)))
print("16 tests passed")
# #endregion
