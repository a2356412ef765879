"""Generates the source of pydantic models for protobuf messages, with the names of the proto3 JSON mapping."""

import keyword
from collections.abc import Iterable
from typing import Any

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from pydantic import BaseModel

HEAD = '''"""Generated from the messages' descriptors."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from subject.model_base import Model
'''

SCALARS = {
    FieldDescriptor.CPPTYPE_INT32: ("int", "0"),
    FieldDescriptor.CPPTYPE_UINT32: ("int", "0"),
    FieldDescriptor.CPPTYPE_INT64: ("int", "0"),
    FieldDescriptor.CPPTYPE_UINT64: ("int", "0"),
    FieldDescriptor.CPPTYPE_FLOAT: ("float", "0.0"),
    FieldDescriptor.CPPTYPE_DOUBLE: ("float", "0.0"),
    FieldDescriptor.CPPTYPE_BOOL: ("bool", "False"),
    FieldDescriptor.CPPTYPE_STRING: ("str", '""'),
}

# Messages that have their own form in JSON.
WELL_KNOWN = {
    "Any": "dict[str, Any]",
    "BoolValue": "bool",
    "BytesValue": "bytes",
    "DoubleValue": "float",
    "Duration": "str",
    "FieldMask": "str",
    "FloatValue": "float",
    "Int32Value": "int",
    "Int64Value": "int",
    "ListValue": "list[Any]",
    "NullValue": "None",
    "StringValue": "str",
    "Struct": "dict[str, Any]",
    "Timestamp": "str",
    "UInt32Value": "int",
    "UInt64Value": "int",
    "Value": "Any",
}

# Names that a field or a class would hide from neighbouring annotations, or from pydantic.
TAKEN = {
    *("Any", "Field", "Literal", "MESSAGES", "Model"),
    *("bool", "bytes", "dict", "float", "int", "list", "str"),
    *keyword.kwlist,
    *dir(BaseModel),
}


def source(roots: Iterable[Descriptor]) -> str:
    """Return a module with the models of these messages and of all messages that they contain."""
    writer = Writer()
    named = {root.full_name: writer.annotation(root) for root in roots}
    named |= {message.full_name: writer.annotation(message) for message in writer.messages}
    entries = [f'    "{name}": {annotation},\n' for name, annotation in named.items()]
    classes = [writer.model(message) for message in writer.messages]
    enums = [f"{name} = {values}\n" for name, values in writer.enums.items()]
    return "\n\n".join([HEAD, *enums, *classes, "MESSAGES = {\n" + "".join(entries) + "}\n"])


def free(name: str, taken: set[str]) -> str:
    """Return the name, or a similar one that is not taken and that pydantic does not treat as private."""
    name = f"f{name}" if name.startswith("_") else name
    while name in taken:
        name += "_"
    return name


class Writer:
    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.messages: list[Descriptor] = []
        self.enums: dict[str, str] = {}

    def annotation(self, kind: Descriptor | EnumDescriptor) -> str:
        """Return the annotation for a message or an enum, and schedule its class to be written."""
        package, _, name = kind.full_name.rpartition(".")
        if package == "google.protobuf" and name in WELL_KNOWN:
            return WELL_KNOWN[name]
        if kind.full_name in self.names:
            return self.names[kind.full_name]
        name = free(kind.full_name.replace(".", "_"), TAKEN | {*self.names.values()})
        self.names[kind.full_name] = name
        if isinstance(kind, EnumDescriptor):
            values = ", ".join(f'"{value.name}"' for value in kind.values)
            # A number without a name stays a number.
            self.enums[name] = f"Literal[{values}] | int"
            return name
        for field in kind.fields:
            self.typed(field)
        # After the messages that it contains.
        self.messages.append(kind)
        return name

    def element(self, field: FieldDescriptor) -> tuple[str, str]:
        """Return the type of a field's element, and its default."""
        if field.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE:
            return self.annotation(field.message_type), "None"
        if field.cpp_type == FieldDescriptor.CPPTYPE_ENUM:
            annotation = self.annotation(field.enum_type)
            first = f'"{field.enum_type.values[0].name}"'
            return annotation, "None" if annotation == "None" else first
        if field.type == FieldDescriptor.TYPE_BYTES:
            return "bytes", 'b""'
        return SCALARS[field.cpp_type]

    def typed(self, field: FieldDescriptor) -> tuple[str, str]:
        """Return a field's annotation, and its default."""
        if is_map(field):
            key, value = (field.message_type.fields_by_name[name] for name in ("key", "value"))
            return f"dict[{self.element(key)[0]}, {self.element(value)[0]}]", "{}"
        element, default = self.element(field)
        if field.is_repeated:
            return f"list[{element}]", "[]"
        if field.has_presence:
            return element if element in ("Any", "None") else f"{element} | None", "None"
        return element, default

    def model(self, message: Descriptor) -> str:
        lines = [f"class {self.names[message.full_name]}(Model):"]
        taken = TAKEN | {*self.names.values()}
        for field in message.fields:
            annotation, default = self.typed(field)
            attribute = free(field.name, taken)
            taken.add(attribute)
            if attribute != field.json_name:
                default = f"Field({default}, alias={field.json_name!r})"
            lines.append(f"    {attribute}: {annotation} = {default}")
        if len(lines) == 1:
            lines.append("    pass")
        return "\n".join(lines) + "\n"


def is_map(field: Any) -> bool:
    kind = field.message_type
    return bool(kind and kind.GetOptions().map_entry)
