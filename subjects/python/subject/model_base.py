"""What the generated models are made of."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, PlainSerializer

# Text in JSON, as protobuf has it. `models.Models` makes it a number for the built-in workloads, before the
# generated code is imported.
Int64: Any = Annotated[int, PlainSerializer(str, return_type=str, when_used="json")]


class Model(BaseModel):
    model_config = ConfigDict(
        populate_by_name=True,
        protected_namespaces=(),
        ser_json_bytes="base64",
        val_json_bytes="base64",
        ser_json_inf_nan="strings",
    )
