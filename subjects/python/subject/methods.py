"""Methods of the generated code, and methods with functions for other messages."""

import importlib
from typing import Any, NamedTuple

from subject.contract import Refused
from subject.messages import Coder
from subject.workloads import Workload


# The name of each form in the library's functions.
KINDS = {
    "unary": "unary_unary",
    "client": "stream_unary",
    "server": "unary_stream",
    "bidirectional": "stream_stream",
}


class Method(NamedTuple):
    service: str
    name: str
    # The module of the messages and, with a suffix, of the service.
    module: str
    # The full names of the messages.
    request: str
    response: str
    # "unary", or the form of its streams.
    form: str

    @classmethod
    def of(cls, workload: Workload) -> "Method":
        from generated.methods import METHODS

        if workload.method not in METHODS:
            raise Refused(f"no code was generated for {workload.method}", "instrument")
        service, _, name = workload.method.rpartition("/")
        return cls(service.rpartition(".")[2], name, *METHODS[workload.method])

    def stub(self, channel: Any) -> Any:
        """Return the method of the generated stub."""
        return getattr(getattr(self.grpc_module(), f"{self.service}Stub")(channel), self.name)

    def add_to_server(self, behaviour: Any, server: Any) -> None:
        """Add a generated service to the server, with this behaviour for the method."""
        module = self.grpc_module()
        servicer = getattr(module, f"{self.service}Servicer")()
        setattr(servicer, self.name, behaviour)
        getattr(module, f"add_{self.service}Servicer_to_server")(servicer, server)

    def grpc_module(self) -> Any:
        return importlib.import_module(f"{self.module}_grpc")


class Generic(NamedTuple):
    """A method with other messages, equivalent to a method of the generated code."""

    # `package.Service/Method`.
    name: str
    coder: Coder
    form: str

    def stub(self, channel: Any) -> Any:
        encode, decode = self.coder
        call = getattr(channel, KINDS[self.form])
        return call(f"/{self.name}", encode, decode, _registered_method=True)

    def add_to_server(self, behaviour: Any, server: Any) -> None:
        import grpc

        encode, decode = self.coder
        service, _, method = self.name.rpartition("/")
        handler_of = getattr(grpc, f"{KINDS[self.form]}_rpc_method_handler")
        handlers = {method: handler_of(behaviour, decode, encode)}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
        server.add_registered_method_handlers(service, handlers)


def check_form(workload: Workload) -> None:
    """Refuse calls in another form than that of the generated method."""
    form = Method.of(workload).form
    if form != workload.form:
        error = f"{workload.method} has the form {form}, and the calls have the form {workload.form}"
        raise Refused(error, "user")
