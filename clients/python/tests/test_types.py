"""The dataclasses against the OpenAPI document of the running server."""
from __future__ import annotations

import dataclasses
import json
import os
import typing
import unittest
from typing import Any, Dict, List, Optional

import nacre
from nacre.wire import Call

KINDS = {"string": str, "integer": int, "boolean": bool}
CLASSES: Dict[str, Any] = {
    "Result": nacre.Result, "Shell": nacre.Shell, "Rule": nacre.Rule, "Room": nacre.Room, "Network": nacre.Network,
    "Unreached": nacre.Unreached, "Host": nacre.Host, "NetworkRule": nacre.NetworkRule, "Held": nacre.Held, "Change": nacre.Change, "Changes": nacre.Changes,
    "Conflict": nacre.Conflict, "Undo": nacre.Undo, "Left": nacre.Left,
    "Consent": nacre.Consent, "Processes": nacre.Processes, "Sandbox": nacre.Sandbox, "Usage": nacre.Usage,
    "Explanation": nacre.Explanation, "Engine": nacre.Engine, "Command": nacre.Command, "Task": nacre.Task, "Order": nacre.Order,
    "Output": nacre.TaskOutput, "Piece": nacre.Piece, "LookFinding": nacre.LookFinding, "Cover": nacre.Cover, "Node": nacre.Node,
    "Mistake": nacre.Mistake, "Box": nacre.Box, "Size": nacre.Size, "Approval": nacre.Approval, "Session": nacre.Session, "Health": nacre.Health, "Text": nacre.Output,
}


def hint_of(schema: Dict[str, Any]) -> Any:
    """The type that a schema stands for."""
    if "$ref" in schema:
        return CLASSES[schema["$ref"].rsplit("/", 1)[1]]
    if "anyOf" in schema:
        arms = [hint_of(arm) for arm in schema["anyOf"]]
        return Optional[next(arm for arm in arms if arm is not type(None))]
    if schema["type"] == "array":
        made_of: Any = List
        return made_of[hint_of(schema["items"])]
    return type(None) if schema["type"] == "null" else KINDS[schema["type"]]


def optional(hint: Any) -> bool:
    return type(None) in typing.get_args(hint)


class Types(unittest.TestCase):
    def setUp(self) -> None:
        client = nacre.Client("unix:" + os.environ["NACRE_TEST_UNIX"])
        self.document: Dict[str, Any] = client._do(Call("GET", "/v1/openapi.json", lambda value: dict(value)))

    def test_every_class_is_its_schema(self) -> None:
        for name, made in CLASSES.items():
            schema = self.document["components"]["schemas"][name]
            hints = typing.get_type_hints(made)
            fields = {field.name: field for field in dataclasses.fields(made)}
            self.assertEqual(set(fields), set(schema["properties"]), name)
            for member, part in schema["properties"].items():
                given = hint_of(part)
                needed = member in schema["required"]
                has_default = fields[member].default is not dataclasses.MISSING or fields[member].default_factory is not dataclasses.MISSING
                self.assertEqual(has_default, not needed, f"{name}.{member}")
                if needed or optional(given):
                    self.assertEqual(hints[member], given, f"{name}.{member}")
                else:  # a member that may be missing is None, or empty
                    self.assertIn(hints[member], (given, Optional[given]), f"{name}.{member}")

    def test_a_request_has_the_members_of_its_schema(self) -> None:
        schema = self.document["paths"]["/v1/run"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        fields = {field.name for field in dataclasses.fields(nacre.Request)} | {"argv"}
        self.assertEqual(fields, set(schema["properties"]))
        body = nacre.Request(["ls"], env={"A": "b"}, pty=nacre.Terminal(1, 2), force=False).to_json()
        self.assertEqual(json.loads(json.dumps(body)), {"argv": ["ls"], "env": {"A": "b"}, "pty": {"rows": 1, "cols": 2}, "force": False})

    def test_a_newer_server_may_add_members(self) -> None:
        self.assertEqual(nacre.types.decode(nacre.Health, {"status": "ok", "version": "9", "more": 1}), nacre.Health("ok", "9"))
        with self.assertRaises(nacre.NacreError):
            nacre.types.decode(nacre.Health, {"status": "ok"})


if __name__ == "__main__":
    unittest.main()
