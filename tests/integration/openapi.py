"""The document of the HTTP interface, held against what a server really answers.

Of JSON Schema it knows exactly what the document uses; anything else in it is an error, so that nothing goes unchecked.
"""
import json

TYPES = {"string": str, "boolean": bool, "object": dict, "array": list, "null": type(None)}
KNOWN = {"type", "properties", "required", "additionalProperties", "items", "anyOf", "$ref"}


def has_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


class Document:
    def __init__(self, document):
        self.document = document
        self.patterns = [(path.split("/"), item) for path, item in document["paths"].items()]

    def resolve(self, schema):
        while "$ref" in schema:
            place = self.document
            for part in schema["$ref"].removeprefix("#/").split("/"):
                place = place[part]
            schema = place
        return schema

    def errors(self, value, schema, where="$"):
        """What of the value is not as the schema says: sentences."""
        schema = self.resolve(schema)
        unknown = set(schema) - KNOWN
        if unknown:
            return [f"{where}: the schema has {unknown}, which nobody checks"]
        if "anyOf" in schema:
            found = [self.errors(value, one, where) for one in schema["anyOf"]]
            return [] if [] in found else [sentence for each in found for sentence in each]
        if not has_type(value, schema["type"]):
            return [f"{where}: {value!r:.60} is no {schema['type']}"]
        found = []
        if isinstance(value, list):
            for i, item in enumerate(value):
                found += self.errors(item, schema["items"], f"{where}[{i}]")
        elif isinstance(value, dict) and "properties" in schema:
            found += [f"{where}: '{key}' is missing" for key in schema["required"] if key not in value]
            for key, item in value.items():
                if key in schema["properties"]:
                    found += self.errors(item, schema["properties"][key], f"{where}.{key}")
                elif not schema["additionalProperties"]:
                    found.append(f"{where}: '{key}' is not in the document")
        return found

    def operation(self, method, path):
        parts = path.split("?")[0].split("/")
        for pattern, item in self.patterns:
            if len(pattern) == len(parts) and all(p in ("{id}", part) for p, part in zip(pattern, parts)):
                return item.get(method.lower())
        return None

    def check_event(self, method, path, name, value):
        """Sentences about an event of the stream that is the answer."""
        events = self.operation(method, path)["responses"]["200"]["content"]["text/event-stream"]["x-events"]
        return self.errors(value, events[name]) if name in events else [f"the event '{name}' is not in the document"]

    def check(self, method, path, status, kind, body):
        """Sentences about an answer; none if there is no such operation: the document promises nothing then."""
        operation = self.operation(method, path)
        if not operation:
            return []
        response = operation["responses"].get(str(status), operation["responses"]["default"])
        content = response.get("content")
        if content is None:
            return [f"there should be no body, but {body[:60]!r}"] if body else []
        kind = (kind or "").split(";")[0]
        if kind not in content:
            return [f"{status} has the type {kind!r}, not one of {sorted(content)}"]
        value = json.loads(body) if kind == "application/json" else body.decode()
        return self.errors(value, content[kind]["schema"])
