"""The building blocks of the generated models."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, PlainSerializer

# A string in JSON, as in protobuf. For the built-in workloads, `models.Models` makes it a number before the generated
# code is imported.
Int64: Any = Annotated[int, PlainSerializer(str, return_type=str, when_used="json")]


class Model(BaseModel):
    model_config = ConfigDict(
        populate_by_name=True,
        protected_namespaces=(),
        ser_json_bytes="base64",
        val_json_bytes="base64",
        ser_json_inf_nan="strings",
    )
