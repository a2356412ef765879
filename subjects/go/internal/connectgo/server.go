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
	"rpcgauge/subjects/go/internal/web"
)

// serve starts a server.
func serve(asked *settings.Server, workload *bind.Workload, method Method) (*web.Server, error) {
	service, err := workload.Proto()
	if err != nil {
		return nil, err
	}
	options := []connect.HandlerOption{
		connect.WithReadMaxBytes(asked.Limits.MessageBytes()),
		connect.WithCompression(gzipName, newReader, writers(asked.ResponseCompression)),
	}
	if asked.ResponseCompression == 0 {
		// By default the library compresses for every client that accepts it.
		options = append(options, connect.WithCompressMinBytes(math.MaxInt))
	}
	mux := http.NewServeMux()
	mux.Handle(workload.Path, method.Serve(handler(service, asked.Marks), options...))
	return web.Serve(asked, mux)
}

func handler(service bind.ProtoHandler, marks bool) Handler {
	return func(_ context.Context, request proto.Message) (proto.Message, bind.Marks, error) {
		start := measure.Now()
		response, err := service(request)
		switch {
		case err != nil:
			return nil, bind.Marks{}, connect.NewError(connect.CodeInvalidArgument, err)
		case !marks:
			return response, bind.Marks{}, nil
		}
		return response, bind.Marks{Start: start, End: measure.Now()}, nil
	}
}
