"""The streaming methods of the grpcio servers, in the form that the generated code calls.

The library takes the next response only after it has sent the previous one, so responses do not accumulate in memory.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import grpc

from subject.contract import Stream
from subject.messages import Listing, Service
from subject.protobufs import Hybrids, Protobufs

INVALID = grpc.StatusCode.INVALID_ARGUMENT
NO_REQUEST = object()


def last_answer(answer: Service, request: Any) -> Any:
    if request is NO_REQUEST:
        raise ValueError("the client sent no request")
    return answer(request)


def behaviour(messages: Protobufs | Hybrids, stream: Stream) -> Callable[[Any, Any], Any]:
    match stream.form:
        case "client":
            return put(messages.service())
        case "server":
            return list_all(messages.listing(stream.messages))
    return exchange(messages.service())


def put(answer: Service) -> Callable[[Any, Any], Any]:
    def call(requests: Iterator[Any], context: grpc.ServicerContext) -> Any:
        last = NO_REQUEST
        for last in requests:
            pass
        try:
            return last_answer(answer, last)
        except ValueError as error:
            context.abort(INVALID, str(error))

    return call


def list_all(listing: Listing) -> Callable[[Any, Any], Any]:
    def call(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        try:
            yield from listing(request)
        except ValueError as error:
            context.abort(INVALID, str(error))

    return call


def exchange(answer: Service) -> Callable[[Any, Any], Any]:
    def call(requests: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:
        try:
            for request in requests:
                yield answer(request)
        except ValueError as error:
            context.abort(INVALID, str(error))

    return call


def coroutine(messages: Protobufs | Hybrids, stream: Stream) -> Callable[[Any, Any], Any]:
    """Return the same for the coroutine API."""
    match stream.form:
        case "client":
            return put_in_coroutine(messages.service())
        case "server":
            return list_in_coroutine(messages.listing(stream.messages))
    return exchange_in_coroutine(messages.service())


def put_in_coroutine(answer: Service) -> Callable[[Any, Any], Any]:
    async def call(requests: AsyncIterator[Any], context: Any) -> Any:
        last = NO_REQUEST
        async for last in requests:
            pass
        try:
            return last_answer(answer, last)
        except ValueError as error:
            await context.abort(INVALID, str(error))

    return call


def list_in_coroutine(listing: Listing) -> Callable[[Any, Any], Any]:
    async def call(request: Any, context: Any) -> AsyncIterator[Any]:
        try:
            for response in listing(request):
                yield response
        except ValueError as error:
            await context.abort(INVALID, str(error))

    return call


def exchange_in_coroutine(answer: Service) -> Callable[[Any, Any], Any]:
    async def call(requests: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:
        try:
            async for request in requests:
                yield answer(request)
        except ValueError as error:
            await context.abort(INVALID, str(error))

    return call
