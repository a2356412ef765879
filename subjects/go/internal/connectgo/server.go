package connectgo

import (
	"context"
	"math"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"rpcgauge/subjects/go/internal/bind"
	"rpcgauge/subjects/go/internal/measure"
	"rpcgauge/subjects/go/internal/settings"
	"rpcgauge/subjects/go/internal/streams"
	"rpcgauge/subjects/go/internal/web"
)

// serve starts a server.
func serve(asked *settings.Server, workload *bind.Workload, method Method) (*web.Server, error) {
	options := []connect.HandlerOption{
		connect.WithReadMaxBytes(asked.Limits.MessageBytes()),
		connect.WithCompression(gzipName, newReader, writers(asked.ResponseCompression)),
	}
	if asked.ResponseCompression == 0 {
		// By default the library compresses for every client that accepts it.
		options = append(options, connect.WithCompressMinBytes(math.MaxInt))
	}
	handler, err := bound(asked, workload, method, options)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle(workload.Path, handler)
	return web.Serve(asked, mux)
}

// bound returns the generated handler with the body of its method.
func bound(
	asked *settings.Server, workload *bind.Workload, method Method, options []connect.HandlerOption,
) (http.Handler, error) {
	if asked.Stream != nil {
		body, err := streams.NewHandler(asked, workload, invalid)
		if err != nil {
			return nil, err
		}
		return method.ServeStream(body, options...), nil
	}
	service, err := workload.Proto()
	if err != nil {
		return nil, err
	}
	return method.Serve(handler(service, asked.Marks), options...), nil
}

// invalid is the error for a request that is at fault.
func invalid(err error) error { return connect.NewError(connect.CodeInvalidArgument, err) }

func handler(service bind.ProtoHandler, marks bool) Handler {
	return func(_ context.Context, request proto.Message) (proto.Message, bind.Marks, error) {
		start := measure.Now()
		response, err := service(request)
		switch {
		case err != nil:
			return nil, bind.Marks{}, invalid(err)
		case !marks:
			return response, bind.Marks{}, nil
		}
		return response, bind.Marks{Start: start, End: measure.Now()}, nil
	}
}
